#include "funnel_registers.hpp"

#include <algorithm>
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
    const bool directed = sampler.name != "rwm" && sampler.name != "mala";
    if (full_noise) noise_.resize(steps * dimension);
    if (directed) direction_.resize(steps * dimension);
    if (directed && full_noise) reverse_.resize(steps * dimension);
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

LaneKernel make_lane_kernel(const std::string& sampler, double step_size) {
  const Batch eta(step_size);
  if (sampler == "rwm") return BasicRwm<Batch>{eta};
  if (sampler == "mala") return BasicMala<Batch>{eta};
  if (sampler == "fmala") return BasicFmala<Batch, Tangent::fresh>{eta};
  if (sampler == "line-fmala") return BasicLineFmala<Batch>{eta};
  if (sampler == "pc-fmala")
    return BasicPcFmala<Batch, Tangent::fresh>{.step_size = eta, .curvature_floor = 0};
  // The grid is that of its relaxation, which lies below 2.
  if (sampler == "newton-line") return BasicNewtonLine<Batch>{.relaxation = std::min(step_size, 1.99)};
  return BasicPcLineFmala<Batch>{.step_size = eta, .curvature_floor = 0};
}

}  // namespace

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
  for (double step_size : step_sizes) kernels.push_back(make_lane_kernel(sampler_, step_size));
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
              const auto info =
                  kernel.step(state, target_, metric_, RandomBlock::Step(block, k), workspace_);
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
