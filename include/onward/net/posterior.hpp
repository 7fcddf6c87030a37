#pragma once
// The posterior of a network's parameters as a target. Data pass through all layers in pieces: a piece
// carries value, slope and curvature of its activations from layer to layer and leaves three numbers behind,
// so memory depends neither on how many rows there are nor on how many layers.
//
// Parameters: those of the layers, in PyTorch's order, then log sigma if sigma is sampled.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onward/glm/prior.hpp"
#include "onward/net/data.hpp"
#include "onward/net/description.hpp"
#include "onward/target/direction.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/parameter_block.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward::net {

/// How a gradient keeps the activations that its backward pass needs.
enum class GradientForm {
  whole,      ///< of all rows and layers at once, as published
  pieces,     ///< of all layers, for a piece of the rows at a time
  checkpoint  ///< of a piece, and only at the ends of segments of layers; within a segment they are
              ///< recomputed
};

struct PosteriorOptions {
  double prior_sd = 1;  ///< of every parameter: normal with mean 0
  /// Gaussian likelihood (numbers to predict): the sd of the noise, if it is not to be sampled.
  std::optional<double> known_sigma = {};
  glm::Prior sigma_prior = glm::Prior::student_t(3, 0, 2.5);  ///< cut at 0
  std::size_t piece = 0;  ///< rows in a piece; 0: chosen by the sizes of network and data
  GradientForm gradient = GradientForm::pieces;
  /// Memory for activations below a layer: along lines within that layer they stay as they are and are not
  /// computed again.
  std::size_t kept_activations_bytes = 0;
  /// Linear networks that are not wide: memory for the values of all units and rows at two places. A line
  /// kernel's step begins where the last one ended, and finds them there.
  std::size_t known_values_bytes = std::size_t{4} << 20;
};

/// How kept activations fared.
struct KeptReport {
  std::size_t stored = 0;  ///< evaluations that computed and kept them
  std::size_t reused = 0;  ///< evaluations that started from them
};

class NetworkPosterior {
 public:
  /// Labels make a softmax likelihood, numbers a Gaussian one. Throws UsageError or Error where network and
  /// data do not fit, there are no rows, or a setting is out of range.
  NetworkPosterior(std::shared_ptr<const Network> network, Data data, PosteriorOptions options = {},
                   std::shared_ptr<ThreadPool> pool = nullptr);
  /// A copy has scratch memory of its own; network, data and pool are shared.
  NetworkPosterior(const NetworkPosterior& other);
  NetworkPosterior(NetworkPosterior&&) noexcept;
  NetworkPosterior& operator=(const NetworkPosterior& other);
  NetworkPosterior& operator=(NetworkPosterior&&) noexcept;
  ~NetworkPosterior();

  std::size_t dimension() const;
  bool samples_sigma() const;
  const Network& network() const;
  const Data& data() const;
  const PosteriorOptions& options() const;  ///< with the piece that was chosen

  std::vector<std::string> names() const;      ///< "0.weight.1.1", ..., "sigma"
  std::vector<ParameterBlock> blocks() const;  ///< a layer each, by its number: "0", "2", ..., "sigma"
  /// sigma is given as itself, not as its logarithm.
  void constrain(VectorView theta, std::span<double> out) const;

  /// Places that are not finite, weights that are NaN included, have a value that is not finite.
  Jet jet(VectorView theta, VectorView v, Order order);
  /// The same of a place and a direction that are read a stretch at a time, and turned to floats as they
  /// come.
  Jet jet_from(const VectorSource& theta, const VectorSource* v, Order order);
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order);

 private:
  class Implementation;

 public:
  /// A line through theta: places on it are computed where they are read, and what lies below the layers that
  /// it moves is known to stay as it is.
  class Line {
   public:
    Jet jet(double alpha, Order order);
    JetPair jet_pair(double alpha, const Direction& next, Order order);
    void commit(double alpha);

   private:
    friend class NetworkPosterior;
    Line(Implementation& posterior, VectorView theta, const Direction& v)
        : posterior_(&posterior), theta_(theta), v_(v) {}
    Implementation* posterior_;
    VectorView theta_;
    Direction v_;
    std::optional<double> latest_;  // alpha of the last jet
    bool started_ = false;          // a jet was taken where the line starts
  };
  Line line(VectorView theta, const Direction& v);

  /// Slopes along two lines need 5 products a layer where two jets need 6.
  double jet_pair_price(Order order) const;
  double gradient(VectorView theta, std::span<double> out);
  /// The same by another form than the options'.
  double gradient(VectorView theta, std::span<double> out, GradientForm form);

  /// The last layer's outputs (logits, or means) for other inputs: row after row.
  void predict(VectorView theta, const Inputs& inputs, std::span<float> out);

  /// Threads that share the pieces of this copy's evaluations.
  void use_pool(std::shared_ptr<ThreadPool> pool);

  const KeptReport& kept() const;

  /// What an evaluation and a gradient will need besides the data, the caller's vectors and the program.
  std::size_t jet_bytes(Order order) const;
  std::size_t gradient_bytes(GradientForm form) const;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace onward::net
