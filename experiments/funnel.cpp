#include "funnel.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/funnel.hpp"
#include "onward/diagnostics/compare.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/lanes.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"
#include "published.hpp"

namespace onward::experiments {
namespace {

using Batch = simd::Batch<double>;
constexpr std::size_t register_lanes = simd::lanes_v<Batch>;

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

/// What is kept of a chain at one step size.
struct ChainSums {
  double w = 0, w_squared = 0, acceptance = 0;
};

/// The chains of one register at every step size, or at one of them with a look at every state.
class Register {
 public:
  using Target = LaneTarget<models::FunnelDensity>;
  using Look = std::function<void(const BasicState<Batch>&)>;

  Register(std::uint64_t seed, std::size_t dim, const std::string& sampler, std::uint32_t first_chain)
      : dimension_(dim + 1),
        sampler_(sampler),
        stream_(seed, first_chain),
        target_(dimension_, {}),
        workspace_(dimension_) {}

  /// One entry a step size, of as many chains as a register holds.
  std::vector<std::array<ChainSums, register_lanes>> run(const std::vector<double>& step_sizes,
                                                         std::size_t total_steps,
                                                         const std::atomic<bool>& stop,
                                                         const Look& look = {}) {
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
        std::visit([&](const auto& kernel) { advance(kernel, states[i], sums[i], block, steps, look); },
                   kernels[i]);
    }

    std::vector<std::array<ChainSums, register_lanes>> result(step_sizes.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      for (std::size_t lane = 0; lane < register_lanes; ++lane)
        result[i][lane] = {simd::lane(sums[i][0], lane), simd::lane(sums[i][1], lane),
                           simd::lane(sums[i][2], lane)};
    return result;
  }

  double random_seconds() const { return random_seconds_; }  ///< spent on random numbers

 private:
  BasicState<Batch> start() {
    BasicState<Batch> state;
    state.position.resize(dimension_);
    stream_.normals(0, Purpose::start, state.position);
    for (Batch& x : state.position) x = x * Batch(0.1);
    state.value = target_.jet(state.position, {}, Order::value).value;
    return state;
  }

  template <class K>
  void advance(const K& kernel, BasicState<Batch>& state, std::array<Batch, 3>& sums,
               const RandomBlock& block, std::size_t steps, const Look& look) {
    for (std::size_t k = 0; k < steps; ++k) {
      const auto info = kernel.step(state, target_, metric_, RandomBlock::Step(block, k), workspace_);
      const Batch w = state.position[0];
      sums[0] += w;
      sums[1] += w * w;
      sums[2] += info.acceptance;
      if (look) look(state);
    }
  }

  double random_seconds_ = 0;
  std::size_t dimension_;
  std::string sampler_;
  StreamBatch stream_;
  Target target_;
  BasicMetric<Batch> metric_;
  BasicWorkspace<Batch> workspace_;
};

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

/// What a row of a table is made of. Tables share jobs: most kernels take as many steps at equal evaluations.
struct Job {
  std::size_t dim;
  std::string sampler;
  std::size_t steps;
  bool operator==(const Job&) const = default;
};

/// One unit of work: the chains of a register for one job.
struct Piece {
  Job job;
  std::size_t first_chain;
  std::size_t lanes;
  std::string key() const {
    return fmt::format("{}/{}/{}/{}/{}", job.dim, job.sampler, job.steps, first_chain, lanes);
  }
};

struct PieceResult {
  std::vector<ChainSums> sums;  // step sizes x lanes
  double seconds = 0, random_seconds = 0;
};

/// What a checkpoint belongs to: settings that change a number.
std::string fingerprint(const FunnelSettings& s) {
  return fmt::format("funnel 2: {} step sizes {} to {}, {} seeds, {} chains, {} steps, seed {}, lanes {}",
                     s.step_sizes, s.min_step_size.value_or(0), s.max_step_size, s.seeds, s.chains, s.steps,
                     s.seed, register_lanes);
}

double seconds_from_json(const nlohmann::json& value) {
  const auto number = value.get<double>();
  if (!(number >= 0) || !std::isfinite(number)) throw Error("a time that is no positive number");
  return number;
}

PieceResult piece_from_json(const nlohmann::json& json) {
  PieceResult result;
  result.seconds = seconds_from_json(json.at("seconds"));
  result.random_seconds = seconds_from_json(json.at("random_seconds"));
  for (const auto& row : json.at("sums")) {
    if (!row.is_array() || row.size() != 3) throw Error("a row of sums that has not three numbers");
    // A chain that left the floating-point range has sums that are not finite, which JSON knows as null.
    const auto number = [](const nlohmann::json& value) {
      return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    };
    result.sums.push_back({number(row[0]), number(row[1]), number(row[2])});
  }
  return result;
}

/// The beginning of a line, for a message.
std::string shown(const std::string& line) { return printable(line.substr(0, 40)); }

/// Finished pieces on disk, a line each; a line cut short by a kill is passed over and its piece done again.
class Checkpoint {
 public:
  Checkpoint(const FunnelSettings& s) : path_(s.checkpoint) {
    if (path_.empty()) return;
    std::ifstream in(path_);
    std::string line;
    bool ours = false;
    if (std::getline(in, line)) {
      ours = line == fingerprint(s);
      if (!ours)
        throw Error(
            fmt::format("{} is the checkpoint of another experiment ({}); remove it or choose another --out",
                        path_, line));
    }
    while (std::getline(in, line)) {
      if (json_depth(line) > most_json_depth) continue;
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (!json.is_object()) continue;
      try {
        const auto key = json.at("key").get<std::string>();
        if (json.contains("seconds_per_step"))
          seconds_per_step_[key] = seconds_from_json(json.at("seconds_per_step"));
        else
          done_[key] = piece_from_json(json);
      } catch (const std::exception& problem) {
        throw Error(
            fmt::format("the checkpoint {} is damaged in the line of {}: {}; remove that line or the file",
                        path_, shown(line), problem.what()));
      }
    }
    in.close();
    out_.open(path_, std::ios::app);
    if (!ours) out_ << fingerprint(s) << std::endl;
    if (!out_)
      throw Error(fmt::format("cannot write the checkpoint {}: is the folder there and writable?", path_));
  }

  /// Nothing if the piece is yet to be done. It must have `sums` sums.
  const PieceResult* find(const Piece& piece, std::size_t sums) const {
    const auto found = done_.find(piece.key());
    if (found == done_.end()) return nullptr;
    if (found->second.sums.size() != sums)
      throw Error(
          fmt::format("the checkpoint {} is damaged: piece {} has {} sums where {} were expected; remove it",
                      path_, piece.key(), found->second.sums.size(), sums));
    return &found->second;
  }

  void add(const Piece& piece, const PieceResult& result) {
    auto sums = nlohmann::json::array();
    for (const auto& s : result.sums) sums.push_back({s.w, s.w_squared, s.acceptance});
    write({{"key", piece.key()},
           {"seconds", result.seconds},
           {"random_seconds", result.random_seconds},
           {"sums", sums}});
  }

  /// The price of a step as it was measured the first time, so that a run that goes on has the same lengths.
  double seconds_per_step(const std::string& key, const std::function<double()>& measure) {
    const auto known = seconds_per_step_.find(key);
    if (known != seconds_per_step_.end()) return known->second;
    const double seconds = seconds_per_step_[key] = measure();
    write({{"key", key}, {"seconds_per_step", seconds}});
    return seconds;
  }

 private:
  void write(const nlohmann::json& json) {
    if (path_.empty()) return;
    // The newline first: if the last line was cut short, this one still stands alone.
    out_ << '\n' << json.dump() << std::flush;
    if (!out_) throw Error(fmt::format("cannot write the checkpoint {}: is the disk full?", path_));
  }

  std::string path_;
  std::map<std::string, double> seconds_per_step_;
  std::map<std::string, PieceResult> done_;
  std::ofstream out_;
};

/// Runs tasks 0..count-1 over threads; the first exception is passed on.
void over_threads(std::size_t threads, std::size_t count, std::atomic<bool>& stop,
                  const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr problem;
  std::vector<std::thread> pool;
  const auto work = [&] {
    for (std::size_t i = next++; i < count && !stop; i = next++) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!problem) problem = std::current_exception();
        stop = true;
      }
    }
  };
  for (std::size_t t = 0; t < threads; ++t) pool.emplace_back(work);
  for (auto& thread : pool) thread.join();
  if (problem) std::rethrow_exception(problem);
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

std::uint64_t evaluations_per_step(const std::string& sampler) {
  return sampler == "rwm" || sampler == "mala" ? 1 : 2;
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

}  // namespace

std::string_view to_string(Budget budget) {
  switch (budget) {
    case Budget::evaluations:
      return "evaluations";
    case Budget::time:
      return "time";
    case Budget::steps:
      break;
  }
  return "steps";
}

Budget budget_from_string(std::string_view name) {
  for (auto budget : {Budget::evaluations, Budget::time})
    if (name == to_string(budget)) return budget;
  const std::vector<std::string> names{"evaluations", "time"};
  throw UsageError(fmt::format("--equal '{}' is not known.{} It is evaluations, time, both or none", name,
                               suggestion(name, names)));
}

void validate(const FunnelSettings& s) {
  const auto positive = [](const char* what, std::size_t value) {
    if (value == 0) throw UsageError(fmt::format("{} 0 makes no sense: give 1 or more", what));
  };
  if (s.dims.empty()) throw UsageError("--dims is empty: give numbers of x's, as in --dims 10,50,100");
  for (std::size_t dim : s.dims) {
    positive("--dims", dim);
    if (std::ranges::count(s.dims, dim) > 1)
      throw UsageError(fmt::format("--dims has {} twice: name each once", dim));
    if (dim > 10'000)
      throw UsageError(fmt::format("--dims {} is too large: at most 10000 x's fit this experiment", dim));
  }
  if (s.samplers.empty()) throw UsageError("--samplers is empty: give names, as in --samplers rwm,mala");
  for (const auto& sampler : s.samplers) {
    find_sampler(sampler);
    if (std::ranges::count(s.samplers, sampler) > 1)
      throw UsageError(fmt::format("--samplers has {} twice: name each once", sampler));
  }
  if (s.step_sizes == 0) throw UsageError("the grid is empty: --step-sizes 0; give 1 or more");
  positive("--seeds", s.seeds);
  positive("--chains", s.chains);
  constexpr double most = 1e8;  // sums, of 24 bytes each
  if (const double sums =
          static_cast<double>(s.seeds) * static_cast<double>(s.chains) * static_cast<double>(s.step_sizes);
      sums > most)
    throw UsageError(fmt::format(
        "--seeds {} of --chains {} at {} step sizes are {:.3g} chains, more than the {:.0g} that fit "
        "this experiment: give fewer",
        s.seeds, s.chains, s.step_sizes, sums, most));
  if (s.steps < 2) throw UsageError(fmt::format("--steps {} is too few: give 2 or more", s.steps));
  for (std::size_t dim : s.dims) {
    const double least = s.min_step_size.value_or(dim >= 100 ? 0.01 : 0.1);
    if (!(least > 0) || !std::isfinite(least))
      throw UsageError(fmt::format("--min-step-size {} is not usable: it must be a positive number", least));
    if (!(s.max_step_size > least) || !std::isfinite(s.max_step_size))
      throw UsageError(
          fmt::format("the grid from {} to {} is not one: --max-step-size must be above --min-step-size",
                      least, s.max_step_size));
  }
  if (s.lanes > register_lanes)
    throw UsageError(
        fmt::format("--lanes {} is too many: a register of this machine holds {}", s.lanes, register_lanes));
}

namespace {

/// The whole experiment at work: finished pieces, rows made of them, and who is told how far it is.
class Experiment {
 public:
  Experiment(const FunnelSettings& settings, const FunnelProgress& progress, const std::atomic<bool>* stop)
      : s_(settings), progress_(progress), stop_(stop), checkpoint_(settings) {}

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
    over_threads(s_.threads, pieces_.size(), ended_, [&](std::size_t i) {
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
    over_threads(s_.threads, seen.size(), ended_, [&](std::size_t i) {
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
  std::vector<Job> jobs_;
  std::vector<FunnelRow> rows_;  // one a job
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
  if (s.threads == 0) s.threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  return Experiment(s, progress, stop).run();
}

}  // namespace onward::experiments
