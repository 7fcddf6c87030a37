#pragma once
// The paper's Table 1: Neal's funnel, every kernel over a grid of step sizes, judged by how well the draws of
// w fit its N(0, 3²). One function from settings to a table; the program prints it. Beside the paper's table,
// where every kernel takes as many steps, stand two in which every kernel costs as much.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onward::experiments {

/// What every kernel gets the same of.
enum class Budget {
  steps,        ///< the paper's table
  evaluations,  ///< values, jets or gradients: as many as two-jet kernels need for the paper's steps
  time          ///< seconds: as many as the last of the samplers needs for the paper's steps, measured
};
std::string_view to_string(Budget budget);
Budget budget_from_string(std::string_view name);  ///< throws UsageError

/// The paper's numbers; each can be changed. No burn-in, no bias correction, no curvature floor, starts N(0,
/// 0.1²).
struct FunnelSettings {
  std::vector<std::size_t> dims{10, 50, 100};  ///< number of x's: the state has one entry more
  std::vector<std::string> samplers{"rwm",      "mala",          "fmala",      "line-fmala",
                                    "pc-fmala", "pc-line-fmala", "newton-line"};
  std::size_t step_sizes = 100;         ///< spaced evenly in log
  std::optional<double> min_step_size;  ///< without it 0.1, or 0.01 from 100 x's on
  double max_step_size = 2;
  std::size_t seeds = 10;  ///< independent repetitions, which give the ±
  std::size_t chains = 5;  ///< in each of them
  std::size_t steps = 10'000;
  bool reverse_kl = false;    ///< KL(q‖p) of the paper's text instead of KL(p‖q), which its table has
  std::vector<Budget> equal;  ///< of what there are tables besides that of equal steps
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: all cores; the table does not depend on it
  std::size_t lanes =
      0;  ///< chains that share a register, 0: as many as fit; the table does not depend on it
  std::string checkpoint;  ///< file to keep finished pieces in and to go on from; empty: none
};

/// Checks every field; throws UsageError with field, value and what is allowed.
void validate(const FunnelSettings& settings);

/// Figures over the seeds; the deviation is NaN with one seed.
struct MeanSd {
  double mean, sd;
};

/// One kernel at one dimension and step size.
struct FunnelCell {
  double step_size;
  std::vector<double> kl;  ///< one for each seed
  MeanSd kl_over_seeds;
  double acceptance;  ///< mean over all steps of all chains
};

/// Published figures that stand beside ours.
struct PublishedFunnelRow {
  MeanSd kl, ess_w, ess_x;
  std::optional<double> p_value;
};

/// A kernel at the step size with the lowest mean KL.
struct FunnelRow {
  std::size_t dim;
  std::string sampler;
  std::size_t steps;              ///< of each chain
  std::vector<FunnelCell> cells;  ///< the whole grid
  std::size_t best;               ///< which of them
  MeanSd ess_w, ess_x;            ///< bulk ESS over a seed's chains; that of the x's is their mean
  std::optional<double> p_value;  ///< Welch's test against mala's KLs; none for mala itself or with one seed
  double steps_per_second;        ///< of one core
  double random_share;            ///< of the time, spent on normals and uniforms (made once for the grid)
  std::uint64_t evaluations;      ///< a chain's jets or gradients at one step size
  std::optional<PublishedFunnelRow> published;
  std::optional<double> published_p;              ///< Welch's test of our KL against the published one
  std::vector<std::pair<double, double>> points;  ///< (x1, w) of the first seed's chains, some of them
};

/// The same kernels at an equal price.
struct FunnelAtEqual {
  Budget budget;
  std::vector<FunnelRow> rows;
};

struct FunnelTable {
  FunnelSettings settings;
  std::vector<FunnelRow> rows;       ///< the paper's: equal steps
  std::vector<FunnelAtEqual> equal;  ///< in the order of the settings
  double seconds = 0;
};

/// Pieces done so far and in all.
using FunnelProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Runs the experiment. If `stop` becomes true, finished pieces are in the checkpoint and std::nullopt is
/// returned.
std::optional<FunnelTable> funnel_table(const FunnelSettings& settings, const FunnelProgress& progress = {},
                                        const std::atomic<bool>* stop = nullptr);

/// Where ours and the published KL disagree by more than chance.
inline constexpr double disagreement = 0.001;

}  // namespace onward::experiments
