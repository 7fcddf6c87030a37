#pragma once
// What is kept of the draws of a network, whose parameters may be millions: what they predict, each chain's
// last state as weights to go on from, and the draws themselves if they are asked for.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "onward/io/npy_rows.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/net/posterior.hpp"
#include "onward/net/predictive.hpp"
#include "onward/run/run.hpp"

namespace onward::net {

class DrawKeeper : public DrawListener {
 public:
  struct Options {
    const RunFolder* folder = nullptr;  ///< null: nothing is written
    bool draws = false;                 ///< chain-N.npy: a row a draw, as floats
    DrawListener* next = nullptr;       ///< is told everything too
    bool with_metric = true;            ///< of large networks `next` need not know the metric
  };
  /// `test` are the rows to predict. With a folder and draws, makes the files at once.
  DrawKeeper(const Posterior& posterior, Inputs test, std::optional<Answers> answers, std::size_t chains,
             const Options& options);

  void warmed_up(std::size_t chain, double step_size, const Metric& metric) override;
  void drawn(std::size_t chain, const Draw& draw) override;
  /// Writes chain-N.safetensors: the last draw's weights with the network's running statistics.
  void finished(std::size_t chain) override;

  /// Of all draws of all chains.
  Predictive predictive() const;

 private:
  struct Chain {
    Predictive predictive;
    std::optional<NpyRowWriter> draws;
    std::vector<double> last;
  };

  Options options_;
  Inputs test_;
  std::vector<Chain> chains_;
  // One for all chains: it has scratch memory of its own, and predictions are few.
  std::mutex mutex_;
  Posterior predictor_;
  std::vector<float> outputs_;
};

/// predictions.npy: rows x outputs, the mean over draws (of numbers) or the probabilities (of classes); for
/// numbers also predictions-sd.npy, their sd between draws.
void write_predictions(const RunFolder& folder, const Predictive& predictive, std::size_t outputs);

}  // namespace onward::net
