#pragma once
// A target from outside: the functions of an onward_density (onward.h), in whatever language they are
// written.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <onward.h>

#include "onward/target/jet.hpp"
#include "onward/target/parameter_block.hpp"

namespace onward {

/// What offers a gradient is a target of another type: whether there is one is part of a target's type.
class DensityTarget {
 public:
  /// Takes the density over: release() is called for its data when the last copy is gone, or here if this
  /// throws. Throws UsageError if it makes no sense.
  explicit DensityTarget(const onward_density& density);
  DensityTarget(const DensityTarget& other);
  DensityTarget(DensityTarget&&) noexcept = default;
  DensityTarget& operator=(const DensityTarget&) = delete;
  DensityTarget& operator=(DensityTarget&&) noexcept = default;
  ~DensityTarget() = default;

  std::size_t dimension() const { return shared_->density.dimension; }
  Jet jet(VectorView theta, VectorView v, Order order) const;
  std::vector<std::string> names() const { return shared_->names; }
  void constrain(VectorView theta, std::span<double> out) const;
  std::vector<ParameterBlock> blocks() const;

  bool offers_gradient() const { return shared_->density.gradient != nullptr; }
  /// How many indices each of the names ends in.
  const std::vector<std::size_t>& name_indices() const { return shared_->indices; }

 protected:
  double gradient_at(VectorView theta, std::span<double> out) const;

 private:
  struct Shared {
    explicit Shared(const onward_density& d);
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared();
    onward_density density;
    std::vector<std::string> names;
    std::vector<std::size_t> indices;
    bool one_at_a_time = false;
    std::mutex turn;
  };
  /// The return code of a function that is given `data` and room for a message becomes an exception.
  template <class Call>
  void ask(const char* what, const Call& call) const;

  /// Tells the model of this thread, once.
  void meet_thread() const;

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<void> copy_;  // of the data, if each chain has its own
  void* data_;
};

/// While there is one, this thread is the caller's, who knows of it: models from outside are not told.
class CallersThread {
 public:
  CallersThread();
  ~CallersThread();
  CallersThread(const CallersThread&) = delete;
  CallersThread& operator=(const CallersThread&) = delete;
};

class DensityWithGradient : public DensityTarget {
 public:
  using DensityTarget::DensityTarget;
  explicit DensityWithGradient(DensityTarget target) : DensityTarget(std::move(target)) {}
  double gradient(VectorView theta, std::span<double> out) const { return gradient_at(theta, out); }
};

}  // namespace onward
