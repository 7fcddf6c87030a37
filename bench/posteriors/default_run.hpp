#pragma once
// A run without options on a posterior whose answers are known: what it took, and whether it was right. Uses
// only what any version of the library has, so that versions can be compared.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/posteriors/set.hpp"

namespace onward::bench {

/// How long such a run is: 1,000 draws of each chain, as whoever calls sample(target) gets, or as `onward
/// sample` goes on from there, until every ESS is 400, up to 8,000.
enum class Length { library, program };

struct DefaultSettings {
  std::uint64_t seed = 1;
  std::size_t threads = 1;
  double max_seconds = 0;  ///< 0: no limit
  Length length = Length::program;
  std::string sampler = "auto";
  std::size_t draws = 0;  ///< if not 0: so many of each chain, to learn answers from
};

struct DefaultFigures {
  std::string posterior, sampler;  ///< the sampler that it chose
  std::uint64_t seed = 0;
  std::size_t dimension = 0, draws = 0;  ///< draws of each chain
  double seconds = 0, processor_seconds = 0;
  double min_ess = 0, min_tail_ess = 0;
  double max_rhat = 0;    ///< infinite if it is not a number, or there are no draws
  double early_rhat = 0;  ///< the same of the first 1,000 draws of each chain: what the library's run has
  std::string worst;      ///< the parameter with that R-hat
  double mean_error =
      0;  ///< largest over the quantities, in standard errors, the answers' own included; NaN: unknown
  double mean_error_sd = 0;   ///< the same in standard deviations
  double variance_error = 0;  ///< largest over the quantities, relative; NaN: unknown
  std::vector<std::string> warnings;
  std::vector<double> mean, sd, mcse, sd_error;  ///< of the parameters, where answers are to be learned

  bool arrived() const { return max_rhat < 1.01; }
  bool arrived_early() const { return early_rhat < 1.01; }
  double per_second() const { return min_ess / processor_seconds; }
};

DefaultFigures default_figures(const KnownPosterior& posterior, const DefaultSettings& settings,
                               const std::atomic<bool>* stop = nullptr);

nlohmann::ordered_json to_json(const DefaultFigures& figures);

}  // namespace onward::bench
