#pragma once
// What is kept of the draws of a network, whose parameters may be millions: what they predict, each chain's
// last state as weights to go on from, and the draws themselves if they are asked for.

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "onward/io/run_folder.hpp"
#include "onward/net/posterior.hpp"
#include "onward/net/predictive.hpp"
#include "onward/run/run.hpp"

namespace onward::net {

/// Sums up what draws predict for some rows and, in a folder, leaves each chain's last weights as
/// chain-N.safetensors, with the network's running statistics.
class PredictionSink final : public Sink {
 public:
  /// `test` are the rows to predict. Without a folder nothing is written.
  PredictionSink(const NetworkPosterior& posterior, Inputs test, std::optional<Answers> answers,
                 std::size_t chains, const RunFolder* folder = nullptr);

  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t chain) override;
  void transfer(std::size_t chain, Archive& archive) override;

  /// Of all draws of all chains.
  Predictive predictive() const;

 private:
  struct Chain {
    Predictive predictive;
    std::vector<double> last;
  };

  const RunFolder* folder_;
  Inputs test_;
  std::vector<Chain> chains_;
  // One for all chains: it has scratch memory of its own, and predictions are few.
  std::mutex mutex_;
  NetworkPosterior predictor_;
  std::vector<float> outputs_;
};

/// predictions.npy: rows x outputs, the mean over draws (of numbers) or the probabilities (of classes); for
/// numbers also predictions-sd.npy, their sd between draws.
void write_predictions(const RunFolder& folder, const Predictive& predictive, std::size_t outputs);

}  // namespace onward::net
