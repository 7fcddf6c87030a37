// `onward bench CASE`: figures beside their peers and bars. The exit code says that it ran, not that bars
// were met.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/posteriors.hpp"
#include "bench/truth.hpp"
#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/util/suggest.hpp"
#include "progress_bar.hpp"

namespace onward::app {
namespace {

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

struct Settings {
  std::string name, out;
  bool json = false, quiet = false, force = false, make_truth = false;
  bench::PosteriorsOptions posteriors;
};

nlohmann::ordered_json to_json(const std::string& name, const std::vector<bench::Row>& rows) {
  auto results = nlohmann::ordered_json::array();
  for (const auto& row : rows)
    results.push_back({{"name", row.name},
                       {"value", row.value},
                       {"unit", row.unit},
                       {"peer", or_null(row.peer)},
                       {"peer_value", or_null(row.peer_value)},
                       {"ratio", or_null(row.ratio)},
                       {"bar", or_null(row.bar)},
                       {"met", or_null(row.met)}});
  return {{"case", name}, {"cores", std::thread::hardware_concurrency()}, {"results", results}};
}

int run_rows(const Settings& s) {
  const auto rows = bench::run(s.name, [&](const std::string& what) {
    if (!s.quiet) say("{}\n", what);
  });
  if (s.json) {
    fmt::print("{}\n", json_text(to_json(s.name, rows), 1));
    return done;
  }
  for (const auto& row : rows) {
    fmt::print("{:<66} {:>10.4g} {:<9}", row.name, row.value, row.unit);
    if (row.peer)
      fmt::print("  {}: {:.4g}, ratio {:.2f}", *row.peer, row.peer_value.value_or(0), row.ratio.value_or(0));
    if (row.bar) fmt::print("  ({}: {})", *row.bar, row.met.value_or(false) ? "met" : "NOT MET");
    fmt::print("\n");
  }
  return done;
}

std::atomic<bool> stop_asked{false};
extern "C" void ask_bench_to_stop(int signal_number) {
  stop_asked = true;
  std::signal(signal_number, SIG_DFL);  // a second one ends the program at once
}

int make_truth(const Settings& s) {
  constexpr std::size_t draws = 1'000'000;
  ProgressBar bar(s.quiet);
  const auto text = bench::make_truth(
      draws, [&](std::size_t pieces, std::size_t all) { bar.show_pieces(pieces, all); }, stop_asked);
  bar.clear();
  if (!text) return interrupted;
  fmt::print("{}", *text);
  return done;
}

int run_posteriors(const Settings& s) {
  std::signal(SIGINT, ask_bench_to_stop);
  std::signal(SIGTERM, ask_bench_to_stop);
  if (s.make_truth) return make_truth(s);
  const std::filesystem::path folder = s.out;
  if (!s.out.empty() && !s.force && std::filesystem::exists(folder / "posteriors.md"))
    throw Error(fmt::format("{} has a posteriors.md already: --force replaces it", s.out));
  if (!s.out.empty()) std::filesystem::create_directories(folder);
  ProgressBar bar(s.quiet);
  const auto result = bench::posteriors(
      s.posteriors, [&](std::size_t pieces, std::size_t all) { bar.show_pieces(pieces, all); }, stop_asked);
  bar.clear();
  const std::string page = bench::markdown(result);
  const std::string json = json_text(to_json(s.name, bench::rows(result)), 1) + "\n";
  if (!s.out.empty()) {
    write_file_atomically(folder / "posteriors.md", page);
    write_file_atomically(folder / "posteriors.json", json);
  }
  fmt::print("{}", s.json ? json : page);
  if (!result.complete && !s.quiet) say("interrupted: the posteriors that were finished are shown\n");
  return result.complete ? done : interrupted;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand("bench", "measure this machine: figures beside their peers");
  const auto names = bench::cases();
  command->add_option("CASE", s->name, "one of: " + joined(names))->required();
  command->add_flag("--json", s->json, "one JSON object on stdout");
  auto* group = command->add_option_group("posteriors", "options of the case posteriors");
  auto& p = s->posteriors;
  group->add_flag("--quick", p.quick, "small budgets and no runs without options: under a minute");
  group->add_option("--only", p.only, "posteriors, or models that stand for several")->delimiter(',');
  group->add_option("--samplers", p.samplers, "`onward samplers` lists them")->delimiter(',');
  group->add_option("--parts", p.parts, "of tuned, untuned, ways, defaults, stays, prices")->delimiter(',');
  add_count(*group, "--budget", p.budget, 1000, "plain evaluations of the density that a run may cost");
  group->add_option("--out", s->out, "folder for posteriors.md and posteriors.json");
  group->add_flag("--force", s->force, "replace those that are there");
  group->add_flag("--quiet", s->quiet, "no progress");
  group->add_flag("--make-truth", s->make_truth, "print models/reference_moments.hpp instead: minutes");
  command->callback([s, group, &action] {
    action = [s, group] {
      if (s->name == "posteriors") return run_posteriors(*s);
      for (const auto* option : group->get_options())
        if (option->count() > 0)
          throw UsageError(
              fmt::format("{} belongs to `onward bench posteriors`, not to {}", option->get_name(), s->name));
      return run_rows(*s);
    };
  });
}

}  // namespace onward::app
