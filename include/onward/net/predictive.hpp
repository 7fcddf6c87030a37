#pragma once
// What draws of a network's parameters predict. Weights of a network are not identified (units can change
// places, scales can move from layer to layer), so what is kept of a draw is what it says of some inputs.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onward/net/data.hpp"
#include "onward/net/posterior.hpp"
#include "onward/target/jet.hpp"
#include "onward/util/archive.hpp"

namespace onward::net {

/// How well a predictive distribution tells the answers.
struct Scores {
  double nll = 0;                  ///< mean over rows of -log density, or of -log probability, of the answer
  std::optional<double> mse = {};  ///< numbers: of the mean over draws
  std::optional<double> accuracy = {}, ece = {};  ///< classes
};

/// Sums up what draws predict for some rows: a mixture with equal weights.
class Predictive {
 public:
  /// `answers` are what scores are made with; without them there are none. Throws UsageError if they are not
  /// as many as the rows.
  Predictive(bool classes, std::size_t rows, std::size_t width, std::optional<Answers> answers = {});

  /// Adds a draw: the network's outputs for all rows and, for numbers, the sd of the noise.
  void add(std::span<const float> outputs, double sigma = 1);
  /// What was summed up, from or to an archive.
  void transfer(Archive& archive);
  /// Adds all draws of another one for the same rows.
  void add(const Predictive& other);

  bool of_classes() const { return classes_; }
  std::size_t rows() const { return rows_; }
  std::size_t width() const { return width_; }  ///< outputs of a row
  std::size_t draws() const { return draws_; }
  std::vector<double> mean() const;  ///< row after row: means, or probabilities of classes
  std::vector<double> sd() const;    ///< of the same between draws: without the noise
  bool has_answers() const { return answers_.has_value(); }
  Scores scores() const;

 private:
  double log_density(std::size_t row, std::span<const float> outputs, double sigma) const;

  bool classes_;
  std::size_t rows_, width_, draws_ = 0;
  std::optional<Answers> answers_;
  std::vector<double> sums_, squares_;  // of what is predicted; squares about the first draw
  std::vector<double> first_;
  std::vector<double> most_, weight_;  // numbers: the density of a row's answer summed over draws is
                                       // weight * exp(most)
};

/// Probabilities of classes from outputs, row after row.
void softmax(std::span<const float> outputs, std::size_t classes, std::span<double> out);

/// A posterior whose draws are what the network says of some inputs, in place of its parameters: f.ROW, or
/// f.ROW.OUTPUT, or p.ROW.CLASS (all counted from 1); then sigma, if it is sampled.
class PredictionView {
 public:
  PredictionView(NetworkPosterior posterior, Inputs inputs);

  const NetworkPosterior& posterior() const { return posterior_; }
  std::size_t dimension() const { return posterior_.dimension(); }
  Jet jet(VectorView theta, VectorView v, Order order) { return posterior_.jet(theta, v, order); }
  Jet jet_from(const VectorSource& theta, const VectorSource* v, Order order) {
    return posterior_.jet_from(theta, v, order);
  }
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
    return posterior_.jet_pair(theta, v, w, order);
  }
  NetworkPosterior::Line line(VectorView theta, const Direction& v) { return posterior_.line(theta, v); }
  double jet_pair_price(Order order) const { return posterior_.jet_pair_price(order); }
  double gradient(VectorView theta, std::span<double> out) { return posterior_.gradient(theta, out); }
  void use_pool(std::shared_ptr<ThreadPool> pool) { posterior_.use_pool(std::move(pool)); }
  std::vector<std::string> names() const;
  std::vector<ParameterBlock> blocks() const { return posterior_.blocks(); }
  void constrain(VectorView theta, std::span<double> out) const;

 private:
  mutable NetworkPosterior posterior_;  // predictions need its scratch memory
  Inputs inputs_;
  mutable std::vector<float> outputs_;
};

}  // namespace onward::net
