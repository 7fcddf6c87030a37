#pragma once
// A kernel on a target, a step at a time: for timing, and for draws of millions of numbers, of which nothing
// is kept here.

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward::experiments {

class Stepper {
 public:
  /// Throws Error if there is no density at the start.
  Stepper(AnyTarget target, const KernelSettings& settings, std::vector<double> start, std::uint64_t seed = 1)
      : target_(std::move(target)),
        kernel_(make_kernel(settings)),
        stream_(seed, 0),
        workspace_(target_.dimension()) {
    state_.position = std::move(start);
    if (find_sampler(settings.sampler).needs_gradient) {
      state_.gradient.resize(target_.dimension());
      state_.value = target_.gradient(state_.position, state_.gradient);
    } else {
      state_.value = target_.value(state_.position);
    }
    if (!std::isfinite(state_.value))
      throw Error(fmt::format("the log density is {} at the start: begin elsewhere", state_.value));
  }

  /// Chain number `chain`, from the start. What the start was is kept at the first call, before any step.
  void begin_again(std::uint32_t chain) {
    if (number_ > 0) state_ = start_;
    if (number_ == 0) start_ = state_;
    stream_ = Stream(stream_.seed(), chain);
    number_ = 0;
  }

  StepInfo step() {
    return onward::step(kernel_, state_, target_, Metric(), {stream_, ++number_}, workspace_);
  }
  const State& state() const { return state_; }

 private:
  AnyTarget target_;
  Kernel kernel_;
  Stream stream_;
  Workspace workspace_;
  State state_, start_;
  std::uint64_t number_ = 0;
};

}  // namespace onward::experiments
