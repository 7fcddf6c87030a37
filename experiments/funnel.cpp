#include "funnel.hpp"

#include <algorithm>
#include <chrono>
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
#include "onward/sampler/samplers.hpp"
#include "onward/target/lanes.hpp"
#include "published.hpp"

namespace onward::experiments {
namespace {

using Batch = simd::Batch<double>;
using Clock = std::chrono::steady_clock;
constexpr std::size_t register_lanes = simd::lanes_v<Batch>;

/// Random numbers of a block of steps for the chains of a register, made once and read at every step size of
/// the grid: a chain has the same random numbers at all step sizes, as it would from its seed.
class RandomBlock {
 public:
  RandomBlock(std::size_t dimension, std::size_t steps, const SamplerInfo& sampler)
      : dimension_(dimension), sampler_(sampler), uniform_(steps), scalar_(steps) {
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
      uniform_[k] = random.uniform();
    }
  }

  /// The random numbers of one step of the block, as a kernel asks for them.
  class Step {
   public:
    Step(const RandomBlock& block, std::size_t k) : block_(&block), k_(k) {}
    void noise(std::span<Batch> z) const { copy(block_->noise_, z); }
    Batch noise() const { return block_->scalar_[k_]; }
    void direction(std::span<Batch> v) const { copy(block_->direction_, v); }
    void reverse_direction(std::span<Batch> v) const { copy(block_->reverse_, v); }
    Batch uniform() const { return block_->uniform_[k_]; }

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
  std::vector<Batch> noise_, direction_, reverse_, uniform_, scalar_;
};

using LaneKernel = std::variant<BasicRwm<Batch>, BasicMala<Batch>, BasicFmala<Batch>, BasicLineFmala<Batch>,
                                BasicPcFmala<Batch>, BasicPcLineFmala<Batch>>;

LaneKernel make_lane_kernel(const std::string& sampler, double step_size) {
  const Batch eta(step_size);
  if (sampler == "rwm") return BasicRwm<Batch>{eta};
  if (sampler == "mala") return BasicMala<Batch>{eta};
  if (sampler == "fmala") return BasicFmala<Batch>{eta};
  if (sampler == "line-fmala") return BasicLineFmala<Batch>{eta};
  if (sampler == "pc-fmala") return BasicPcFmala<Batch>{eta};
  return BasicPcLineFmala<Batch>{eta};
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

  Register(const FunnelSettings& settings, std::size_t dim, const std::string& sampler,
           std::uint32_t first_chain)
      : settings_(settings),
        dimension_(dim + 1),
        sampler_(sampler),
        stream_(settings.seed, first_chain),
        target_(dimension_, {}),
        workspace_(dimension_) {}

  /// One entry a step size, of as many chains as a register holds.
  std::vector<std::array<ChainSums, register_lanes>> run(const std::vector<double>& step_sizes,
                                                         const std::atomic<bool>& stop,
                                                         const Look& look = {}) {
    // A block that stays in the second-level cache together with the states of the grid.
    const std::size_t block_steps = std::clamp<std::size_t>(4000 / dimension_, 16, 256);
    RandomBlock block(dimension_, block_steps, find_sampler(sampler_));
    std::vector<LaneKernel> kernels;
    for (double step_size : step_sizes) kernels.push_back(make_lane_kernel(sampler_, step_size));
    std::vector<BasicState<Batch>> states(step_sizes.size(), start());
    std::vector<std::array<Batch, 3>> sums(step_sizes.size(), {Batch(0.0), Batch(0.0), Batch(0.0)});

    for (std::size_t done = 0; done < settings_.steps && !stop; done += block_steps) {
      const std::size_t steps = std::min(block_steps, settings_.steps - done);
      block.fill(stream_, done + 1, steps);
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

  const FunnelSettings& settings_;
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
double kl_of(const FunnelSettings& s, const ChainSums* chains) {
  const auto n = static_cast<double>(s.chains * s.steps);
  double sum = 0, squares = 0;
  for (std::size_t c = 0; c < s.chains; ++c) {
    sum += chains[c].w;
    squares += chains[c].w_squared;
  }
  const double mean = sum / n, sd = std::sqrt(std::max(0.0, (squares - n * mean * mean) / (n - 1)));
  const double kl = s.reverse_kl ? kl_normal(mean, sd, 0, 3) : kl_normal(0, 3, mean, sd);
  return std::isfinite(kl) ? kl : std::numeric_limits<double>::infinity();
}

/// One unit of work: the chains of a register for one kernel and dimension.
struct Piece {
  std::size_t dim;
  std::string sampler;
  std::size_t first_chain;
  std::size_t lanes;
  std::string key() const { return fmt::format("{}/{}/{}/{}", dim, sampler, first_chain, lanes); }
};

struct PieceResult {
  std::vector<ChainSums> sums;  // step sizes x lanes
  double seconds = 0;
};

/// What a checkpoint belongs to: settings that change a number.
std::string fingerprint(const FunnelSettings& s) {
  return fmt::format("funnel 1: {} step sizes {} to {}, {} seeds, {} chains, {} steps, seed {}, lanes {}",
                     s.step_sizes, s.min_step_size.value_or(0), s.max_step_size, s.seeds, s.chains, s.steps,
                     s.seed, register_lanes);
}

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
      const auto json = nlohmann::json::parse(line, nullptr, false);
      if (json.is_discarded()) continue;
      PieceResult result;
      result.seconds = json["seconds"];
      for (const auto& row : json["sums"]) result.sums.push_back({row[0], row[1], row[2]});
      done_[json["key"]] = std::move(result);
    }
    in.close();
    out_.open(path_, std::ios::app);
    if (!ours) out_ << fingerprint(s) << std::endl;
    if (!out_)
      throw Error(fmt::format("cannot write the checkpoint {}: is the folder there and writable?", path_));
  }

  const PieceResult* find(const Piece& piece) const {
    const auto found = done_.find(piece.key());
    return found == done_.end() ? nullptr : &found->second;
  }

  void add(const Piece& piece, const PieceResult& result) {
    if (path_.empty()) return;
    auto sums = nlohmann::json::array();
    for (const auto& s : result.sums) sums.push_back({s.w, s.w_squared, s.acceptance});
    const nlohmann::json json{{"key", piece.key()}, {"seconds", result.seconds}, {"sums", sums}};
    // The newline first: if the last line was cut short, this one still stands alone.
    out_ << '\n' << json.dump() << std::flush;
    if (!out_) throw Error(fmt::format("cannot write the checkpoint {}: is the disk full?", path_));
  }

 private:
  std::string path_;
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

/// ESS of w and mean ESS of the x's of one seed's chains at one step size: its chains are run again and kept.
std::pair<double, double> ess_of(const FunnelSettings& s, std::size_t dim, const std::string& sampler,
                                 double step_size, std::size_t seed, const std::atomic<bool>& stop) {
  std::vector<Chains> draws(dim + 1, Chains(s.chains));
  for (std::size_t begin = 0; begin < s.chains; begin += register_lanes) {
    const std::size_t lanes = std::min(register_lanes, s.chains - begin);
    Register chains(s, dim, sampler, static_cast<std::uint32_t>(seed * s.chains + begin));
    chains.run({step_size}, stop, [&](const BasicState<Batch>& state) {
      for (std::size_t i = 0; i <= dim; ++i)
        for (std::size_t lane = 0; lane < lanes; ++lane)
          draws[i][begin + lane].push_back(simd::lane(state.position[i], lane));
    });
  }
  if (stop) return {0, 0};
  double x = 0;
  for (std::size_t i = 1; i <= dim; ++i) x += ess_bulk(draws[i]) / static_cast<double>(dim);
  return {ess_bulk(draws[0]), x};
}

std::uint64_t evaluations_per_step(const std::string& sampler) {
  return sampler == "rwm" || sampler == "mala" ? 1 : 2;
}

}  // namespace

void validate(const FunnelSettings& s) {
  const auto positive = [](const char* what, std::size_t value) {
    if (value == 0) throw UsageError(fmt::format("{} 0 makes no sense: give 1 or more", what));
  };
  if (s.dims.empty()) throw UsageError("--dims is empty: give numbers of x's, as in --dims 10,50,100");
  for (std::size_t dim : s.dims) {
    positive("--dims", dim);
    if (dim > 10'000)
      throw UsageError(fmt::format("--dims {} is too large: at most 10000 x's fit this experiment", dim));
  }
  if (s.samplers.empty()) throw UsageError("--samplers is empty: give names, as in --samplers rwm,mala");
  for (const auto& sampler : s.samplers) find_sampler(sampler);
  if (s.step_sizes == 0) throw UsageError("the grid is empty: --step-sizes 0; give 1 or more");
  positive("--seeds", s.seeds);
  positive("--chains", s.chains);
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

std::optional<FunnelTable> funnel_table(const FunnelSettings& settings, const FunnelProgress& progress,
                                        const std::atomic<bool>* stop) {
  validate(settings);
  const auto begin = Clock::now();
  FunnelTable table{settings, {}, 0};
  FunnelSettings& s = table.settings;
  if (s.threads == 0) s.threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  const std::size_t lanes = s.lanes == 0 ? register_lanes : s.lanes;
  const std::size_t chains = s.seeds * s.chains;

  std::vector<Piece> pieces;
  std::vector<std::size_t> dims = s.dims;
  std::sort(dims.rbegin(), dims.rend());  // the long ones first, so that threads end together
  for (std::size_t dim : dims)
    for (const auto& sampler : s.samplers)
      for (std::size_t first = 0; first < chains; first += lanes)
        pieces.push_back({dim, sampler, first, std::min(lanes, chains - first)});
  std::vector<PieceResult> results(pieces.size());

  const std::size_t total = pieces.size() + s.dims.size() * s.samplers.size() * s.seeds;
  std::size_t done = 0;
  std::atomic<bool> ended{false};
  std::mutex mutex;
  Checkpoint checkpoint(s);
  const auto tell = [&] {
    ++done;
    if (progress) progress(done, total);
    if (stop && *stop) ended = true;
  };

  over_threads(s.threads, pieces.size(), ended, [&](std::size_t i) {
    const Piece& piece = pieces[i];
    if (const PieceResult* known = checkpoint.find(piece)) {
      results[i] = *known;
    } else {
      const auto start = Clock::now();
      Register chains_of_piece(s, piece.dim, piece.sampler, static_cast<std::uint32_t>(piece.first_chain));
      const auto sums = chains_of_piece.run(grid(s, piece.dim), ended);
      if (ended) return;
      for (const auto& row : sums)
        results[i].sums.insert(results[i].sums.end(), row.begin(),
                               row.begin() + static_cast<std::ptrdiff_t>(piece.lanes));
      results[i].seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const std::lock_guard lock(mutex);
      checkpoint.add(piece, results[i]);
    }
    const std::lock_guard lock(mutex);
    tell();
  });
  if (ended) return std::nullopt;

  for (std::size_t dim : s.dims)
    for (const auto& sampler : s.samplers) {
      FunnelRow row;
      row.dim = dim;
      row.sampler = sampler;
      row.evaluations = evaluations_per_step(sampler) * s.steps;
      row.published = published_funnel(dim, sampler);
      const auto step_sizes = grid(s, dim);
      std::vector<std::vector<ChainSums>> sums(step_sizes.size(), std::vector<ChainSums>(chains));
      double seconds = 0;
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        const Piece& piece = pieces[p];
        if (piece.dim != dim || piece.sampler != sampler) continue;
        seconds += results[p].seconds;
        for (std::size_t i = 0; i < step_sizes.size(); ++i)
          for (std::size_t lane = 0; lane < piece.lanes; ++lane)
            sums[i][piece.first_chain + lane] = results[p].sums[i * piece.lanes + lane];
      }
      row.steps_per_second = static_cast<double>(step_sizes.size() * chains * s.steps) / seconds;
      row.best = 0;
      for (std::size_t i = 0; i < step_sizes.size(); ++i) {
        FunnelCell cell{step_sizes[i], {}, {}, 0};
        for (std::size_t seed = 0; seed < s.seeds; ++seed)
          cell.kl.push_back(kl_of(s, &sums[i][seed * s.chains]));
        for (const auto& chain : sums[i])
          cell.acceptance += chain.acceptance / static_cast<double>(chains * s.steps);
        cell.kl_over_seeds = over_seeds(cell.kl);
        row.cells.push_back(std::move(cell));
        if (row.cells[i].kl_over_seeds.mean < row.cells[row.best].kl_over_seeds.mean) row.best = i;
      }
      table.rows.push_back(std::move(row));
    }

  // ESS for the chosen step sizes, a seed at a time.
  std::vector<std::pair<double, double>> ess(table.rows.size() * s.seeds);
  over_threads(s.threads, ess.size(), ended, [&](std::size_t i) {
    const FunnelRow& row = table.rows[i / s.seeds];
    ess[i] = ess_of(s, row.dim, row.sampler, row.cells[row.best].step_size, i % s.seeds, ended);
    const std::lock_guard lock(mutex);
    tell();
  });
  if (ended) return std::nullopt;

  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    FunnelRow& row = table.rows[r];
    std::vector<double> w, x;
    for (std::size_t seed = 0; seed < s.seeds; ++seed) {
      w.push_back(ess[r * s.seeds + seed].first);
      x.push_back(ess[r * s.seeds + seed].second);
    }
    row.ess_w = over_seeds(w);
    row.ess_x = over_seeds(x);
    const auto n = static_cast<double>(s.seeds);
    const MeanSd ours = row.cells[row.best].kl_over_seeds;
    if (s.seeds < 2) continue;
    if (row.sampler != "mala")
      for (const auto& other : table.rows)
        if (other.dim == row.dim && other.sampler == "mala") {
          const MeanSd mala = other.cells[other.best].kl_over_seeds;
          row.p_value = welch_t_test(ours.mean, ours.sd, n, mala.mean, mala.sd, n).p;
        }
    // The published figures are KL(p‖q) over 10 seeds; other lengths have other KLs.
    const FunnelSettings paper;
    if (row.published && !s.reverse_kl && s.steps == paper.steps && s.chains == paper.chains)
      row.published_p =
          welch_t_test(ours.mean, ours.sd, n, row.published->kl.mean, row.published->kl.sd, 10).p;
  }
  table.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return table;
}

}  // namespace onward::experiments
