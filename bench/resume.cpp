// What it costs that a run can be resumed, and what a chain takes that is kept as its moves.

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "bench.hpp"
#include "experiments/network_model.hpp"
#include "experiments/scratch_folder.hpp"
#include "models/funnel.hpp"
#include "onward/io/csv_sink.hpp"
#include "onward/io/trace.hpp"
#include "onward/net/weights.hpp"
#include "onward/run/checkpoint.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/target/callable.hpp"
#include "onward/util/clock.hpp"

namespace onward::bench {
namespace {

namespace fs = std::filesystem;
using experiments::ScratchFolder;

/// The paper's convolutional network, whose 2.4 million parameters are what a checkpoint has to hold. A
/// checkpoint and a trace know nothing of images, so that few of them do.
AnyTarget paper_network(std::vector<double>& start) {
  constexpr std::size_t images = 10;
  start = net::lecun_start(net::Layout(net::paper_cnn()), 1);
  nlohmann::ordered_json options = experiments::cifar10_pixels();
  options["show_rows"] = 1;
  return experiments::network_model(net::paper_cnn(), std::move(options), experiments::made_images(images))
      .target;
}

RunSettings network_settings(const std::vector<double>& start, std::size_t draws) {
  RunSettings settings{.sampler = "line-fmala", .draws = draws, .chains = 1, .seed = 1};
  settings.step_size = 1e-3;
  settings.warmup = 0;
  settings.thin = 1;
  settings.start = {.kind = Start::Kind::given, .position = start};
  return settings;
}

/// Seconds of the processor, all threads together: a checkpoint is written beside the chains, which go on.
struct Timed {
  double seconds = 0;
  std::size_t checkpoints = 0;
};

/// A run with its draws in CSV files, and with one checkpoint after the other if it is to save any.
Timed timed_run(const AnyTarget& target, const RunSettings& settings, bool saves) {
  const ScratchFolder scratch;
  const RunFolder folder = RunFolder::create(scratch.path(), true);
  KernelChainMaker maker(target);
  const RunSettings resolved = maker.resolve(settings);
  CsvSink csv(folder, "bench", resolved, maker.names(), {});
  Timed result;
  Hooks hooks{.sinks = {&csv}, .keep_draws = false};
  hooks.checkpoint_seconds = 0;
  if (saves)
    hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      write_checkpoint(folder.checkpoint(), {}, checkpoint);
      ++result.checkpoints;
    };
  const std::clock_t begin = std::clock();
  run_chains(maker, resolved, hooks);
  result.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return result;
}

/// What one checkpoint adds to the work of a run, as a share of the usual time between two.
Row checkpoint_row(const std::string& name, const AnyTarget& target, const RunSettings& settings) {
  constexpr int rounds = 3;
  constexpr double usual_seconds = 30;
  double plain = std::numeric_limits<double>::infinity(), each = plain;
  for (int round = 0; round < rounds; ++round)
    plain = std::min(plain, timed_run(target, settings, false).seconds);
  for (int round = 0; round < rounds; ++round) {
    const Timed with = timed_run(target, settings, true);
    each = std::min(each, (with.seconds - plain) / static_cast<double>(with.checkpoints));
  }
  const double share = 100 * std::max(0.0, each) / usual_seconds;
  Row row{fmt::format("checkpoint every 30 s, {} ({:.3g} ms each)", name, 1e3 * each), share,
          "% of the time"};
  row.bar = "< 1";
  row.met = share < 1;
  return row;
}

/// A chain of 1,000 steps: the bytes of its moves, and how many of some states come back bit for bit.
void add_trace_rows(std::vector<Row>& rows, const AnyTarget& target, const std::vector<double>& start) {
  constexpr std::size_t steps = 1000;
  std::map<std::size_t, std::vector<double>> states{{1, {}}, {2, {}}, {100, {}}, {517, {}}, {steps, {}}};
  const ScratchFolder scratch;
  const RunFolder folder = RunFolder::create(scratch.path(), true);
  KernelChainMaker maker(target);
  const RunSettings resolved = maker.resolve(network_settings(start, steps));
  TraceSink trace(folder, resolved);
  std::size_t drawn = 0;
  DrawFunction keep_some([&](std::size_t, const Draw& draw) {
    if (const auto found = states.find(++drawn); found != states.end())
      found->second.assign(draw.position.begin(), draw.position.end());
  });
  Hooks hooks{.sinks = {&trace, &keep_some}, .keep_draws = false};
  run_chains(maker, resolved, hooks);

  Row bytes{"trace of 1,000 line-fmala steps on the CNN, besides its start",
            static_cast<double>(fs::file_size(folder.path() / "chain-1.trace")), "bytes"};
  bytes.bar = "<= 20000";
  bytes.met = bytes.value <= 20'000;
  rows.push_back(bytes);

  Replay replay(folder.path(), target, resolved, 0);
  const auto begin = Clock::now();
  const auto same = std::ranges::count_if(
      states, [&](const auto& kept) { return std::ranges::equal(replay.state_of(kept.first), kept.second); });
  Row right{"draws 1, 2, 100, 517 and 1000 of it, replayed bit for bit", static_cast<double>(same), "of 5"};
  right.bar = "= 5";
  right.met = same == 5;
  rows.push_back(right);
  rows.push_back({"replay of 1,000 steps", seconds_since(begin), "s"});
}

}  // namespace

std::vector<Row> resume(const Hears& hears) {
  std::vector<Row> rows;
  hears("checkpoints of the funnel");
  const AnyTarget funnel = onward::target(11, models::FunnelDensity{});
  rows.push_back(checkpoint_row("funnel D=10, 4 chains", funnel,
                                {.sampler = "pc-line-fmala", .draws = 20'000, .seed = 1}));
  hears("checkpoints of the paper's CNN");
  std::vector<double> start;
  const AnyTarget network = paper_network(start);
  rows.push_back(checkpoint_row("the paper's CNN, 1 chain", network, network_settings(start, 40)));
  hears("a trace of the paper's CNN");
  add_trace_rows(rows, network, start);
  return rows;
}

}  // namespace onward::bench
