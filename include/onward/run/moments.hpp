#pragma once
// Running means and standard deviations of all parameters, for models whose draws are too large to keep.

#include <vector>

#include "onward/run/sink.hpp"

namespace onward {

class MomentsSink final : public Sink {
 public:
  MomentsSink(std::size_t parameters, std::size_t chains);
  void warmed_up(std::size_t, double, const Metric&) override {}
  void drawn(std::size_t chain, const Draw& draw) override;
  void finished(std::size_t) override {}
  void transfer(std::size_t chain, Archive& archive) override;

  std::vector<double> mean() const;  ///< over the draws of all chains
  std::vector<double> sd() const;

 private:
  struct Chain {
    std::uint64_t draws = 0;
    std::vector<double> mean, squares;  // Welford's: squares are about the mean
  };
  Chain all() const;
  std::vector<Chain> chains_;
};

}  // namespace onward
