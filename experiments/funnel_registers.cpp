#include "funnel_registers.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "onward/util/clock.hpp"

namespace onward::experiments {
namespace {

/// Random numbers of a block of steps for the chains of a register, made once and read at every step size of
/// the grid: a chain has the same random numbers at all step sizes, as it would from its seed.
class RandomBlock {
 public:
  RandomBlock(std::size_t dimension, std::size_t steps, const SamplerInfo& sampler)
      : dimension_(dimension), sampler_(sampler), uniform_(steps), scalar_(steps), choice_(2 * steps) {
    const bool full_noise = !sampler.line;
    if (full_noise) noise_.resize(steps * dimension);
    if (sampler.directed) direction_.resize(steps * dimension);
    if (sampler.directed && full_noise) reverse_.resize(steps * dimension);
  }

  void fill(const StreamBatch& stream, std::uint64_t first_step, std::size_t steps) {
    for (std::size_t k = 0; k < steps; ++k) {
      const BasicStepRandom<Batch> random(stream, first_step + k);
      if (!noise_.empty()) random.noise(part(noise_, k));
      if (!direction_.empty()) random.direction(part(direction_, k));
      if (!reverse_.empty()) random.reverse_direction(part(reverse_, k));
      if (sampler_.line) scalar_[k] = random.noise();
      if (!sampler_.tuned) choice_[2 * k] = random.choice(0), choice_[2 * k + 1] = random.choice(1);
      uniform_[k] = random.uniform();
    }
  }

  /// The random numbers of one step of the block, as a kernel asks for them.
  class Step {
   public:
    Step(const RandomBlock& block, std::size_t k) : block_(&block), k_(k) {}
    void noise(std::span<Batch> z) const { copy(block_->noise_, z); }
    Batch noise(std::uint64_t) const { return block_->scalar_[k_]; }
    Support direction(std::span<Batch> v) const {
      copy(block_->direction_, v);
      return {0, v.size()};
    }
    void reverse_direction(std::span<Batch> v) const { copy(block_->reverse_, v); }
    Batch uniform(std::uint64_t) const { return block_->uniform_[k_]; }
    Batch choice(std::uint64_t index) const { return block_->choice_[2 * k_ + index]; }

   private:
    void copy(const std::vector<Batch>& from, std::span<Batch> to) const {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(k_ * block_->dimension_), to.size(), to.begin());
    }
    const RandomBlock* block_;
    std::size_t k_;
  };

 private:
  std::span<Batch> part(std::vector<Batch>& all, std::size_t k) {
    return std::span<Batch>(all).subspan(k * dimension_, dimension_);
  }
  std::size_t dimension_;
  const SamplerInfo& sampler_;
  std::vector<Batch> noise_, direction_, reverse_, uniform_, scalar_, choice_;
};

/// The paper's kernels, and ours.
using LaneKernel =
    std::variant<BasicRwm<Batch>, BasicMala<Batch>, BasicFmala<Batch, Tangent::fresh>, BasicLineFmala<Batch>,
                 BasicPcFmala<Batch, Tangent::fresh>, BasicPcLineFmala<Batch>, BasicNewtonLine<Batch>>;

template <class K>
K lane_kernel(double step_size) {
  K kernel;
  if constexpr (requires { kernel.step_size; }) {
    kernel.step_size = Batch(step_size);
    if constexpr (requires { kernel.curvature_floor; }) kernel.curvature_floor = 0;  // the paper's have none
  } else {
    kernel.relaxation = std::min(step_size, 1.99);  // the grid is that of its relaxation, which lies below 2
  }
  return kernel;
}

/// Nothing if the table has no such kernel.
std::optional<LaneKernel> find_lane_kernel(std::string_view sampler, double step_size) {
  std::optional<LaneKernel> found;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto take = [&]<class K>() {
      if (K::facts.name == sampler) found = lane_kernel<K>(step_size);
    };
    (take.template operator()<std::variant_alternative_t<I, LaneKernel>>(), ...);
  }
  (std::make_index_sequence<std::variant_size_v<LaneKernel>>{});
  return found;
}

}  // namespace

bool has_lane_kernel(std::string_view sampler) { return find_lane_kernel(sampler, 1).has_value(); }

BasicState<Batch> Register::start() {
  BasicState<Batch> state;
  state.position.resize(dimension_);
  stream_.normals(0, Purpose::start, state.position);
  for (Batch& x : state.position) x = x * Batch(0.1);
  state.value = target_.jet(state.position, {}, Order::value).value;
  return state;
}

std::vector<std::array<ChainSums, register_lanes>> Register::run(const std::vector<double>& step_sizes,
                                                                 std::size_t total_steps,
                                                                 const std::atomic<bool>& stop,
                                                                 const Look& look) {
  // A block that stays in the second-level cache together with the states of the grid.
  const std::size_t block_steps = std::clamp<std::size_t>(4000 / dimension_, 16, 256);
  RandomBlock block(dimension_, block_steps, find_sampler(sampler_));
  std::vector<LaneKernel> kernels;
  for (double step_size : step_sizes) kernels.push_back(find_lane_kernel(sampler_, step_size).value());
  std::vector<BasicState<Batch>> states(step_sizes.size(), start());
  std::vector<std::array<Batch, 3>> sums(step_sizes.size(), {Batch(0.0), Batch(0.0), Batch(0.0)});

  for (std::size_t done = 0; done < total_steps && !stop; done += block_steps) {
    const std::size_t steps = std::min(block_steps, total_steps - done);
    const auto begin = Clock::now();
    block.fill(stream_, done + 1, steps);
    random_seconds_ += seconds_since(begin);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      std::visit(
          [&, &state = states[i], &sum = sums[i]](const auto& kernel) {
            for (std::size_t k = 0; k < steps; ++k) {
              const auto info = kernel.step(state, target_, metric_, RandomBlock::Step(block, k), workspace_);
              const Batch w = state.position[0];
              sum[0] += w;
              sum[1] += w * w;
              sum[2] += info.acceptance;
              if (look) look(state);
            }
          },
          kernels[i]);
  }

  std::vector<std::array<ChainSums, register_lanes>> result(step_sizes.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (std::size_t lane = 0; lane < register_lanes; ++lane)
      result[i][lane] = {simd::lane(sums[i][0], lane), simd::lane(sums[i][1], lane),
                         simd::lane(sums[i][2], lane)};
  return result;
}

}  // namespace onward::experiments
