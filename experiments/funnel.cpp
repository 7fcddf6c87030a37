#include "funnel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include <fmt/format.h>

#include "funnel_checkpoint.hpp"
#include "funnel_registers.hpp"
#include "onward/diagnostics/compare.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/thread_pool.hpp"
#include "published.hpp"

namespace onward::experiments {
namespace {

std::vector<double> grid(const FunnelSettings& s, std::size_t dim) {
  const double least = s.min_step_size.value_or(dim >= 100 ? 0.01 : 0.1);
  std::vector<double> result(s.step_sizes);
  for (std::size_t i = 0; i < s.step_sizes; ++i) {
    const double share =
        s.step_sizes == 1 ? 0 : static_cast<double>(i) / static_cast<double>(s.step_sizes - 1);
    result[i] = least * std::pow(s.max_step_size / least, share);
  }
  return result;
}

MeanSd over_seeds(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (double x : values) mean += x / n;
  for (double x : values) squares += (x - mean) * (x - mean);
  return {mean, values.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / (n - 1))};
}

/// KL between w's N(0, 3²) and the normal with mean and deviation of all draws of a seed's chains.
double kl_of(const FunnelSettings& s, std::size_t steps, const ChainSums* chains) {
  const auto n = static_cast<double>(s.chains * steps);
  double sum = 0, squares = 0;
  for (std::size_t c = 0; c < s.chains; ++c) {
    sum += chains[c].w;
    squares += chains[c].w_squared;
  }
  const double mean = sum / n, sd = std::sqrt(std::max(0.0, (squares - n * mean * mean) / (n - 1)));
  const double kl = s.reverse_kl ? kl_normal(mean, sd, 0, 3) : kl_normal(0, 3, mean, sd);
  return std::isfinite(kl) ? kl : std::numeric_limits<double>::infinity();
}

/// What is learnt of one seed's chains at the chosen step size, which are run again and kept.
struct SeedDraws {
  double ess_w = 0, ess_x = 0;  // that of the x's is their mean
  std::vector<std::pair<double, double>> points;
};

SeedDraws draws_of(const FunnelSettings& s, const Job& job, double step_size, std::size_t seed,
                   const std::atomic<bool>& stop) {
  std::vector<Chains> draws(job.dim + 1, Chains(s.chains));
  for (std::size_t begin = 0; begin < s.chains; begin += register_lanes) {
    const std::size_t lanes = std::min(register_lanes, s.chains - begin);
    Register chains(s.seed, job.dim, job.sampler, static_cast<std::uint32_t>(seed * s.chains + begin));
    chains.run({step_size}, job.steps, stop, [&](const BasicState<Batch>& state) {
      for (std::size_t i = 0; i <= job.dim; ++i)
        for (std::size_t lane = 0; lane < lanes; ++lane)
          draws[i][begin + lane].push_back(simd::lane(state.position[i], lane));
    });
  }
  SeedDraws result;
  if (stop) return result;
  result.ess_w = ess_bulk(draws[0]);
  for (std::size_t i = 1; i <= job.dim; ++i)
    result.ess_x += ess_bulk(draws[i]) / static_cast<double>(job.dim);
  if (seed == 0) {
    constexpr std::size_t wanted = 2000;  // more would hide the contours
    const std::size_t every = std::max<std::size_t>(1, s.chains * job.steps / wanted);
    for (std::size_t c = 0; c < s.chains; ++c)
      for (std::size_t k = 0; k < job.steps; k += every)
        result.points.emplace_back(draws[1][c][k], draws[0][c][k]);
  }
  return result;
}

/// Jets of forward kernels are along directions that are new at each step: one at each end of a move.
std::uint64_t evaluations_per_step(const std::string& sampler) {
  const SamplerInfo& info = find_sampler(sampler);
  return info.needs_gradient || info.order == Order::value ? 1 : 2;
}

/// Seconds of one step of a register of chains that runs by itself, random numbers included.
double measured_seconds_per_step(const FunnelSettings& s, std::size_t dim, const std::string& sampler) {
  constexpr std::size_t steps = 500;
  const std::atomic<bool> stop{false};
  double least = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 5; ++repeat) {
    Register chains(s.seed, dim, sampler, 0);
    const auto begin = Clock::now();
    chains.run({0.2}, steps, stop);
    least = std::min(least, seconds_since(begin) / steps);
  }
  return least;
}

/// How many steps a kernel takes within a budget.
std::size_t steps_within(const FunnelSettings& s, Budget budget, std::size_t dim, const std::string& sampler,
                         Checkpoint& checkpoint) {
  switch (budget) {
    case Budget::evaluations:
      return 2 * s.steps / evaluations_per_step(sampler);
    case Budget::time: {
      const auto price = [&](const std::string& name) {
        return checkpoint.seconds_per_step(fmt::format("{}/{}", dim, name),
                                           [&] { return measured_seconds_per_step(s, dim, name); });
      };
      const double ratio = price(s.samplers.back()) / price(sampler);
      return std::max<std::size_t>(4, static_cast<std::size_t>(static_cast<double>(s.steps) * ratio));
    }
    case Budget::steps:
      break;
  }
  return s.steps;
}

/// The whole experiment at work: finished pieces, rows made of them, and who is told how far it is.
class Experiment {
 public:
  Experiment(const FunnelSettings& settings, const FunnelProgress& progress, const std::atomic<bool>* stop)
      : s_(settings), progress_(progress), stop_(stop), checkpoint_(settings), pool_(settings.threads) {}

  std::optional<FunnelTable> run() {
    const auto begin = Clock::now();
    FunnelTable table{s_, {}, {}, 0};
    std::vector<Budget> budgets{Budget::steps};
    budgets.insert(budgets.end(), s_.equal.begin(), s_.equal.end());
    for (Budget budget : budgets)
      for (std::size_t dim : s_.dims)
        for (const auto& sampler : s_.samplers)
          add({dim, sampler, steps_within(s_, budget, dim, sampler, checkpoint_)});
    total_ = jobs_.size() * (registers() + s_.seeds);
    if (!run_pieces()) return std::nullopt;
    for (const Job& job : jobs_) rows_.push_back(row_of(job));
    if (!look_at_draws()) return std::nullopt;

    for (Budget budget : budgets) {
      std::vector<FunnelRow> rows;
      for (std::size_t dim : s_.dims)
        for (const auto& sampler : s_.samplers)
          rows.push_back(rows_[find({dim, sampler, steps_within(s_, budget, dim, sampler, checkpoint_)})]);
      if (s_.seeds > 1) compare_with_mala(rows);
      if (budget == Budget::steps) {
        compare_with_published(rows);
        table.rows = std::move(rows);
      } else {
        table.equal.push_back({budget, std::move(rows)});
      }
    }
    table.seconds = seconds_since(begin);
    return table;
  }

 private:
  std::size_t chains() const { return s_.seeds * s_.chains; }
  std::size_t lanes() const { return s_.lanes == 0 ? register_lanes : s_.lanes; }
  std::size_t registers() const { return (chains() + lanes() - 1) / lanes(); }
  std::size_t find(const Job& job) const {
    return static_cast<std::size_t>(std::find(jobs_.begin(), jobs_.end(), job) - jobs_.begin());
  }
  void add(const Job& job) {
    if (find(job) == jobs_.size()) jobs_.push_back(job);
  }

  void tell() {
    ++done_;
    if (progress_) progress_(done_, total_);
    if (stop_ && *stop_) ended_ = true;
  }

  bool run_pieces() {
    std::vector<Job> longest_first = jobs_;  // so that threads end together
    std::stable_sort(longest_first.begin(), longest_first.end(),
                     [](const Job& a, const Job& b) { return a.dim * a.steps > b.dim * b.steps; });
    for (const Job& job : longest_first)
      for (std::size_t first = 0; first < chains(); first += lanes())
        pieces_.push_back({job, first, std::min(lanes(), chains() - first)});
    results_.resize(pieces_.size());
    pool_.for_each(pieces_.size(), [&](std::size_t i) {
      if (ended_) return;
      const Piece& piece = pieces_[i];
      if (const PieceResult* known = checkpoint_.find(piece, grid(s_, piece.job.dim).size() * piece.lanes)) {
        results_[i] = *known;
      } else {
        const auto start = Clock::now();
        Register chains_of_piece(s_.seed, piece.job.dim, piece.job.sampler,
                                 static_cast<std::uint32_t>(piece.first_chain));
        const auto sums = chains_of_piece.run(grid(s_, piece.job.dim), piece.job.steps, ended_);
        if (ended_) return;
        for (const auto& row : sums)
          results_[i].sums.insert(results_[i].sums.end(), row.begin(),
                                  row.begin() + static_cast<std::ptrdiff_t>(piece.lanes));
        results_[i].seconds = seconds_since(start);
        results_[i].random_seconds = chains_of_piece.random_seconds();
        const std::lock_guard lock(mutex_);
        checkpoint_.add(piece, results_[i]);
      }
      const std::lock_guard lock(mutex_);
      tell();
    });
    return !ended_;
  }

  FunnelRow row_of(const Job& job) const {
    FunnelRow row;
    row.dim = job.dim;
    row.sampler = job.sampler;
    row.steps = job.steps;
    row.evaluations = evaluations_per_step(job.sampler) * job.steps;
    const auto step_sizes = grid(s_, job.dim);
    std::vector<std::vector<ChainSums>> sums(step_sizes.size(), std::vector<ChainSums>(chains()));
    double seconds = 0, random_seconds = 0;
    for (std::size_t p = 0; p < pieces_.size(); ++p) {
      const Piece& piece = pieces_[p];
      if (piece.job != job) continue;
      seconds += results_[p].seconds;
      random_seconds += results_[p].random_seconds;
      for (std::size_t i = 0; i < step_sizes.size(); ++i)
        for (std::size_t lane = 0; lane < piece.lanes; ++lane)
          sums[i][piece.first_chain + lane] = results_[p].sums[i * piece.lanes + lane];
    }
    row.steps_per_second = static_cast<double>(step_sizes.size() * chains() * job.steps) / seconds;
    row.random_share = random_seconds / seconds;
    row.best = 0;
    for (std::size_t i = 0; i < step_sizes.size(); ++i) {
      FunnelCell cell{step_sizes[i], {}, {}, 0};
      for (std::size_t seed = 0; seed < s_.seeds; ++seed)
        cell.kl.push_back(kl_of(s_, job.steps, &sums[i][seed * s_.chains]));
      for (const auto& chain : sums[i])
        cell.acceptance += chain.acceptance / static_cast<double>(chains() * job.steps);
      cell.kl_over_seeds = over_seeds(cell.kl);
      row.cells.push_back(std::move(cell));
      if (row.cells[i].kl_over_seeds.mean < row.cells[row.best].kl_over_seeds.mean) row.best = i;
    }
    return row;
  }

  /// ESS and some draws for the chosen step sizes, a seed at a time.
  bool look_at_draws() {
    std::vector<SeedDraws> seen(rows_.size() * s_.seeds);
    pool_.for_each(seen.size(), [&](std::size_t i) {
      if (ended_) return;
      const FunnelRow& row = rows_[i / s_.seeds];
      seen[i] = draws_of(s_, jobs_[i / s_.seeds], row.cells[row.best].step_size, i % s_.seeds, ended_);
      const std::lock_guard lock(mutex_);
      tell();
    });
    if (ended_) return false;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      std::vector<double> w, x;
      for (std::size_t seed = 0; seed < s_.seeds; ++seed) {
        w.push_back(seen[r * s_.seeds + seed].ess_w);
        x.push_back(seen[r * s_.seeds + seed].ess_x);
      }
      rows_[r].ess_w = over_seeds(w);
      rows_[r].ess_x = over_seeds(x);
      rows_[r].points = std::move(seen[r * s_.seeds].points);
    }
    return true;
  }

  void compare_with_mala(std::vector<FunnelRow>& rows) const {
    const auto n = static_cast<double>(s_.seeds);
    for (auto& row : rows)
      for (const auto& other : rows)
        if (other.dim == row.dim && other.sampler == "mala" && row.sampler != "mala") {
          const MeanSd ours = row.cells[row.best].kl_over_seeds, mala = other.cells[other.best].kl_over_seeds;
          row.p_value = welch_t_test(ours.mean, ours.sd, n, mala.mean, mala.sd, n).p;
        }
  }

  /// The published figures are KL(p‖q) over 10 seeds; other lengths have other KLs.
  void compare_with_published(std::vector<FunnelRow>& rows) const {
    const FunnelSettings paper;
    const bool comparable =
        s_.seeds > 1 && !s_.reverse_kl && s_.steps == paper.steps && s_.chains == paper.chains;
    for (auto& row : rows) {
      row.published = published_funnel(row.dim, row.sampler);
      const MeanSd ours = row.cells[row.best].kl_over_seeds;
      if (row.published && comparable)
        row.published_p = welch_t_test(ours.mean, ours.sd, static_cast<double>(s_.seeds),
                                       row.published->kl.mean, row.published->kl.sd, 10)
                              .p;
    }
  }

  const FunnelSettings& s_;
  const FunnelProgress& progress_;
  const std::atomic<bool>* stop_;
  Checkpoint checkpoint_;
  ThreadPool pool_;
  std::vector<Job> jobs_;
  std::vector<FunnelRow> rows_;  // one for each job
  std::vector<Piece> pieces_;
  std::vector<PieceResult> results_;
  std::size_t done_ = 0, total_ = 0;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
};

}  // namespace

std::optional<FunnelTable> funnel_table(const FunnelSettings& settings, const FunnelProgress& progress,
                                        const std::atomic<bool>* stop) {
  validate(settings);
  FunnelSettings s = settings;
  s.threads = threads_or_all(s.threads);
  return Experiment(s, progress, stop).run();
}

}  // namespace onward::experiments
