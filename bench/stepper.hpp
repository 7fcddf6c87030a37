#pragma once
// One chain of a kernel, a step at a time, for timing.

#include <utility>
#include <vector>

#include "bench.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward::bench {

class Stepper {
 public:
  Stepper(AnyTarget target, const KernelSettings& settings, std::vector<double> start)
      : target_(std::move(target)),
        kernel_(make_kernel(settings)),
        stream_(1, 0),
        workspace_(target_.dimension()) {
    state_.position = std::move(start);
    state_.value = target_.value(state_.position);
    if (settings.sampler == "mala") {
      state_.gradient.resize(target_.dimension());
      target_.gradient(state_.position, state_.gradient);
    }
  }
  void step() {
    onward::step(kernel_, state_, target_, Metric(), StepRandom(stream_, ++number_), workspace_);
    keep(state_.value);
  }

 private:
  AnyTarget target_;
  Kernel kernel_;
  Stream stream_;
  Workspace workspace_;
  State state_;
  std::uint64_t number_ = 0;
};

}  // namespace onward::bench
