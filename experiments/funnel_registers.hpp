#pragma once
// Chains on the funnel, as many as a register has lanes, which advance together at every step size of a grid.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/funnel.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/lanes.hpp"

namespace onward::experiments {

using Batch = simd::Batch<double>;
inline constexpr std::size_t register_lanes = simd::lanes_v<Batch>;

/// Whether chains of this sampler can advance together: those of the paper's table, and newton-line.
bool has_lane_kernel(std::string_view sampler);

/// What is kept of a chain at one step size.
struct ChainSums {
  double w = 0, w_squared = 0, acceptance = 0;
};

/// The chains of one register at every step size, or at one of them with a look at every state.
class Register {
 public:
  using Look = std::function<void(const BasicState<Batch>&)>;

  Register(std::uint64_t seed, std::size_t dim, const std::string& sampler, std::uint32_t first_chain)
      : dimension_(dim + 1),
        sampler_(sampler),
        stream_(seed, first_chain),
        target_(dimension_, {}),
        workspace_(dimension_) {}

  /// One entry for each step size, of as many chains as a register holds.
  std::vector<std::array<ChainSums, register_lanes>> run(const std::vector<double>& step_sizes,
                                                         std::size_t total_steps,
                                                         const std::atomic<bool>& stop,
                                                         const Look& look = {});

  double random_seconds() const { return random_seconds_; }  ///< spent on random numbers

 private:
  BasicState<Batch> start();

  double random_seconds_ = 0;
  std::size_t dimension_;
  std::string sampler_;
  StreamBatch stream_;
  LaneTarget<models::FunnelDensity> target_;
  BasicMetric<Batch> metric_;
  BasicWorkspace<Batch> workspace_;
};

}  // namespace onward::experiments
