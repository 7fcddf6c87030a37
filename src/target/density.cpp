#include "onward/target/density.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward {
namespace {

thread_local int callers_depth = 0;

constexpr std::size_t most_numbers = std::size_t{1} << 40;

/// How many numbers a parameter has. Throws UsageError if they are too many.
std::size_t size_of(const onward_parameter& parameter) {
  std::size_t size = 1;
  for (std::size_t k = 0; k < parameter.rank; ++k) {
    if (parameter.shape[k] > most_numbers || size * parameter.shape[k] > most_numbers)
      throw UsageError(
          fmt::format("the parameter {} has a `shape` for which there is no memory", parameter.name));
    size *= parameter.shape[k];
  }
  return size;
}

/// theta.1.1, theta.1.2, ...: the last index runs fastest.
void append_names(const onward_parameter& parameter, std::vector<std::string>& names,
                  std::vector<std::size_t>& indices) {
  const std::size_t size = size_of(parameter);
  for (std::size_t i = 0; i < size; ++i) {
    std::string suffix;
    std::size_t rest = i;
    for (std::size_t k = parameter.rank; k-- > 0; rest /= parameter.shape[k])
      suffix.insert(0, fmt::format(".{}", rest % parameter.shape[k] + 1));
    names.push_back(parameter.name + suffix);
    indices.push_back(parameter.rank);
  }
}

/// Throws UsageError for what would otherwise end in a crash.
void check(const onward_density& d) {
  if (d.version != ONWARD_INTERFACE)
    throw UsageError(
        fmt::format("the model was compiled for version {} of the C interface, and this library "
                    "has version {}: compile it again",
                    d.version, ONWARD_INTERFACE));
  if (d.jet == nullptr) throw UsageError("the model offers no function `jet`: set it");
  if (d.block_count > 0 && d.blocks == nullptr)
    throw UsageError("the model says that it has `blocks`, but their list is a null pointer");
  if (d.dimension > most_numbers)
    throw UsageError(
        fmt::format("the model has `dimension` {}: there is no memory for so many", d.dimension));
  if (d.dimension == 0) throw UsageError("the model has `dimension` 0: there is nothing to sample");
  if (d.parameter_count > 0 && d.parameters == nullptr)
    throw UsageError("the model says that it has `parameters`, but their list is a null pointer");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < d.parameter_count; ++i) {
    const onward_parameter& p = d.parameters[i];
    if (p.name == nullptr || *p.name == '\0')
      throw UsageError(fmt::format("parameter {} of the model has no name", i + 1));
    if (p.rank > 0 && p.shape == nullptr)
      throw UsageError(fmt::format("the parameter {} of the model has no `shape`", p.name));
    if (!seen.insert(p.name).second)
      throw UsageError(fmt::format("the model has two parameters called {}: rename one", p.name));
  }
  std::size_t in_blocks = 0;
  for (std::size_t i = 0; i < d.block_count; ++i) in_blocks += d.blocks[i];
  if (d.block_count > 0 && in_blocks != d.dimension)
    throw UsageError(fmt::format("the `blocks` of the model have {} parameters together, but {} are sampled",
                                 in_blocks, d.dimension));
}

}  // namespace

DensityTarget::Shared::Shared(const onward_density& d) : density(d) {
  try {
    check(d);
    for (std::size_t i = 0; i < d.parameter_count; ++i) append_names(d.parameters[i], names, indices);
    if (names.empty() && d.parameter_count == 0)
      for (std::size_t i = 0; i < d.dimension; ++i) {
        names.push_back(fmt::format("theta.{}", i + 1));
        indices.push_back(1);
      }
    if (d.constrain == nullptr && names.size() != d.dimension)
      throw UsageError(
          fmt::format("the model samples {} numbers and reports {}: set `constrain`, which makes the ones "
                      "from the others",
                      d.dimension, names.size()));
    one_at_a_time = (d.flags & ONWARD_THREAD_SAFE) == 0 && d.copy == nullptr;
  } catch (...) {
    if (d.release != nullptr) d.release(d.data);
    throw;
  }
}

DensityTarget::Shared::~Shared() {
  if (density.release != nullptr) density.release(density.data);
}

DensityTarget::DensityTarget(const onward_density& density)
    : shared_(std::make_shared<Shared>(density)), data_(density.data) {}

DensityTarget::DensityTarget(const DensityTarget& other) : shared_(other.shared_), data_(other.data_) {
  if (shared_->density.copy == nullptr) return;
  data_ = shared_->density.copy(other.data_);
  if (data_ == nullptr) throw Error("the model could not be copied for another chain");
  copy_ = {data_, [shared = shared_](void* data) {
             if (shared->density.release != nullptr) shared->density.release(data);
           }};
}

CallersThread::CallersThread() { ++callers_depth; }
CallersThread::~CallersThread() { --callers_depth; }

void DensityTarget::meet_thread() const {
  if (callers_depth > 0) return;
  /// Says goodbye when the thread ends.
  struct Met {
    std::vector<std::pair<void (*)(), void (*)()>> interpreters;
    ~Met() {
      for (const auto& [begins, ends] : interpreters)
        if (ends != nullptr) ends();
    }
  };
  thread_local Met met;
  const std::pair functions{shared_->density.thread_begins, shared_->density.thread_ends};
  if (std::ranges::find(met.interpreters, functions) != met.interpreters.end()) return;
  met.interpreters.push_back(functions);
  functions.first();
}

template <class Call>
void DensityTarget::ask(const char* what, const Call& call) const {
  char message[ONWARD_MESSAGE_SIZE];
  message[0] = '\0';
  int answer;
  if (shared_->density.thread_begins != nullptr) meet_thread();
  if (shared_->one_at_a_time) {
    const std::lock_guard turn(shared_->turn);
    answer = call(message);
  } else {
    answer = call(message);
  }
  if (answer == ONWARD_OK) return;
  message[ONWARD_MESSAGE_SIZE - 1] = '\0';
  if (answer == ONWARD_NO_DENSITY) throw std::domain_error(message);
  throw Error(*message != '\0' ? fmt::format("the model's {} failed: {}", what, printable(message))
                               : fmt::format("the model's {} failed, and did not say why", what));
}

Jet DensityTarget::jet(VectorView theta, VectorView v, Order order) const {
  double out[3] = {0, 0, 0};
  ask("jet", [&](char* message) {
    return shared_->density.jet(data_, theta.data(), order == Order::value ? nullptr : v.data(),
                                static_cast<int>(order), out, message);
  });
  return {out[0], order >= Order::slope ? out[1] : 0, order == Order::curvature ? out[2] : 0};
}

double DensityTarget::gradient_at(VectorView theta, std::span<double> out) const {
  double value = 0;
  ask("gradient", [&](char* message) {
    return shared_->density.gradient(data_, theta.data(), &value, out.data(), message);
  });
  return value;
}

void DensityTarget::constrain(VectorView theta, std::span<double> out) const {
  if (shared_->density.constrain == nullptr) {
    std::copy(theta.begin(), theta.end(), out.begin());
    return;
  }
  ask("constrain",
      [&](char* message) { return shared_->density.constrain(data_, theta.data(), out.data(), message); });
}

std::vector<ParameterBlock> DensityTarget::blocks() const {
  std::vector<ParameterBlock> blocks;
  for (std::size_t i = 0; i < shared_->density.block_count; ++i)
    blocks.push_back({fmt::format("block.{}", i + 1), shared_->density.blocks[i]});
  return blocks;
}

}  // namespace onward
