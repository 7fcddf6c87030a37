#pragma once
// Everything that decides a run. Two runs with equal settings and equal targets give the same bits.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/direction/metric.hpp"
#include "onward/sampler/kernel.hpp"
#include "onward/sampler/regenerated.hpp"

namespace onward {

/// Where chains begin, in the space that is sampled.
struct Start {
  enum class Kind { random, zeros, given };
  Kind kind = Kind::random;
  double scale = 1;                   ///< random: each entry is normal with this standard deviation
  std::vector<double> position = {};  ///< given: the same for every chain, unless there is
  std::vector<double> spread = {};  ///< an entry each: chains begin at places normal about the given one with
                                    ///< these standard deviations
  std::string word = {};  ///< given: stands for all these numbers in run.json, such as a file's name
};

/// A setting that may be left open and is filled in before a run begins: what a Run has is read as it is,
/// `std::uint64_t seed = run.settings.seed`. Reading one that is still open throws std::bad_optional_access.
template <class T>
class Filled : public std::optional<T> {
 public:
  using std::optional<T>::optional;
  operator const T&() const { return this->value(); }  // NOLINT: it stands for its value
  friend bool operator==(const Filled& a, const Filled& b) { return as_optional(a) == as_optional(b); }
  template <class U>
  friend bool operator==(const Filled& a, const U& b) {
    return as_optional(a) == b;
  }

 private:  // assignment is by way of a new one: = 3, = std::nullopt, = {}
  static const std::optional<T>& as_optional(const Filled& a) { return a; }
};

/// Fields without a value are filled in by resolve(): see there.
struct RunSettings {
  std::string sampler = "auto";          ///< auto: nuts, or what short pilots choose: see choice.hpp
  std::optional<double> step_size = {};  ///< fixed; without it warm-up finds it
  /// With a step size: warm-up finds one of its own all the same, to learn the metric by, and the given one
  /// is for the draws. So a search compares step sizes with one metric.
  bool adapt_in_warmup = false;
  /// What the sampler describes as its options, by name: {{"relaxation", 1.3}, {"inner", 2}}. Those that only
  /// other samplers have change nothing; `onward samplers --json` lists all.
  nlohmann::ordered_json sampler_options = nlohmann::ordered_json::object();
  Vectors vectors = Vectors::held;  ///< regenerated: a large network's directions are never in memory
  std::string directions = "auto";  ///< as make_directions() has them
  Filled<double> target_acceptance = {};

  Filled<std::size_t> warmup = {};  ///< steps; by usual_warmup() without a value
  std::size_t draws = 1000;         ///< kept, per chain
  Filled<std::size_t> thin = {};    ///< steps from draw to draw; a sweep without a value
  std::size_t chains = 4;
  std::size_t threads = 0;          ///< 0: as many as chains and cores allow
  Filled<std::uint64_t> seed = {};  ///< without a value one is taken from the system, and reported
  Start start = {};
  Filled<MetricKind> metric = {};  ///< without a value: none if the step size is fixed, else by
                                   ///< default_metric()
  double temperature = 1;          ///< samples density^(1/T)
  double max_seconds = 0;          ///< 0: no limit
  /// Go on until the bulk and tail ESS of every parameter are so large and R-hat is below 1.01; `draws` is
  /// then the most a chain makes. Judged after `min_draws` of each chain, then after twice as many each time.
  std::optional<double> until_ess = {};
  std::size_t min_draws = 125;

  /// Whether the sampler is to be chosen: a step size is for one that is known.
  bool chooses_sampler() const;
};

/// Checks every field (UsageError names field, value and what is allowed) and fills in the optional ones, the
/// sampler's options among them. The sampler auto must have been chosen before; with a fixed step size, which
/// only a known sampler can have, it is taken for pc-line-fmala.
RunSettings resolve(RunSettings settings, std::size_t dimension);

/// Refuses to look for a sampler without vectors to look with: throws UsageError.
void check_choosable(const RunSettings& settings);

/// With a seed from the system if there is none.
RunSettings with_seed(RunSettings settings);

/// dense while it is cheap beside an evaluation, low-rank above.
MetricKind default_metric(std::size_t dimension);

/// The part of the settings that a kernel has.
struct KernelSettings;
KernelSettings kernel_settings(const RunSettings& settings);

/// Steps of warm-up: 1,000 sweeps, which are single steps but for line kernels.
std::size_t usual_warmup(std::string_view sampler, std::size_t dimension);

/// Steps that make a sweep: the dimension for a line kernel, 1 for the others.
std::size_t sweep_steps(const std::string& sampler, std::size_t dimension);

}  // namespace onward
