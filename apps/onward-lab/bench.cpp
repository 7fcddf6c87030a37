// `onward bench CASE`: figures beside their peers and bars. The exit code says that it ran, not that bars
// were met.

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/defaults.hpp"
#include "bench/posteriors.hpp"
#include "bench/truth.hpp"
#include "commands.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

struct Settings {
  std::string out;
  bool json = false, quiet = false, force = false, make_truth = false;
  bench::PosteriorsOptions posteriors;
  bench::DefaultsOptions defaults;
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

int show_rows(const Settings& s, const std::string& name, const std::vector<bench::Row>& rows,
              const nlohmann::ordered_json& more = nlohmann::ordered_json::object()) {
  if (s.json) {
    auto json = to_json(name, rows);
    json.update(more);
    fmt::print("{}\n", json_text(json, 1));
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

bench::Hears heard(const Settings& s) {
  return [&s](const std::string& what) {
    if (!s.quiet) say("{}\n", what);
  };
}

int run_rows(const Settings& s, const bench::Benchmark& one) {
  return show_rows(s, one.name, one.run(heard(s)));
}

/// The cases defaults and arrives, which differ in what they count.
int run_defaults(const Settings& s, const std::string& name, bool arrives) {
  const std::atomic<bool>& stop = stop_when_told();
  auto options = s.defaults;
  if (arrives && options.only.empty()) options.only = bench::arriving_posteriors(options.posteriordb);
  const auto result = bench::defaults(options, heard(s), stop);
  auto runs = nlohmann::ordered_json::array();
  for (const auto& run : result.runs) runs.push_back(bench::to_json(run));
  show_rows(s, name, arrives ? bench::arrives_rows(result) : bench::default_rows(result), {{"runs", runs}});
  if (!result.complete && !s.quiet) say("interrupted: the runs that were finished are shown\n");
  return result.complete ? done : interrupted;
}

int make_truth(const Settings& s, const std::atomic<bool>& stop) {
  constexpr std::size_t draws = 1'000'000;
  ProgressBar bar(s.quiet);
  const auto text = bench::make_truth(
      draws, [&](std::size_t pieces, std::size_t all) { bar.show_pieces(pieces, all); }, stop);
  bar.clear();
  if (!text) return interrupted;
  fmt::print("{}", *text);
  return done;
}

int run_posteriors(const Settings& s) {
  const std::atomic<bool>& stop = stop_when_told();
  if (s.make_truth) return make_truth(s, stop);
  const std::filesystem::path folder = s.out;
  if (!s.out.empty() && !s.force && std::filesystem::exists(folder / "posteriors.md"))
    throw Error(fmt::format("{} has a posteriors.md already: --force replaces it", s.out));
  if (!s.out.empty()) std::filesystem::create_directories(folder);
  ProgressBar bar(s.quiet);
  const auto result = bench::posteriors(
      s.posteriors, [&](std::size_t pieces, std::size_t all) { bar.show_pieces(pieces, all); }, stop);
  bar.clear();
  const std::string page = bench::markdown(result);
  const std::string json = json_text(to_json("posteriors", bench::rows(result)), 1) + "\n";
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
  auto* command = app.add_subcommand("bench", "measure this machine: figures beside their peers");
  const auto add_case = [&](const std::string& name, const std::string& summary) {
    auto* one = command->add_subcommand(name, summary)->group("Benchmarks");
    auto s = std::make_shared<Settings>();
    one->add_flag("--json", s->json, "one JSON object on stdout");
    one->add_flag("--quiet", s->quiet, "no progress");
    return std::pair{one, s};
  };
  for (const auto& benchmark : bench::cases()) {
    const auto [one, s] = add_case(benchmark.name, benchmark.summary);
    one->callback([s = s, benchmark, &action] { action = [=] { return run_rows(*s, benchmark); }; });
  }
  const auto add_defaults = [&](const std::string& name, const std::string& summary, std::size_t seeds) {
    const auto added = add_case(name, summary);
    auto& d = added.second->defaults;
    d.seeds = seeds;
    added.first->add_option("--only", d.only, "posteriors, or origins: drawn, posteriordb, simulated, nasty")
        ->delimiter(',');
    added.first
        ->add_option("--posteriordb", d.posteriordb,
                     "folder with MODEL.data.json and MODEL.reference.json of Stan's posteriordb")
        ->type_name("DIR");
    add_count(*added.first, "--seeds", d.seeds, 1, "runs of each posterior");
    add_count(*added.first, "--threads", d.threads, 0, "of a run; 0: as many as chains and cores allow");
    return added;
  };
  for (const auto& [name, summary, seeds, arrives] :
       {std::tuple{"defaults", "runs without options on posteriors whose answers are known", 1, false},
        std::tuple{"arrives", "runs without options on ten posteriors that chains get lost on", 20, true}}) {
    const auto [one, s] = add_defaults(name, summary, static_cast<std::size_t>(seeds));
    one->callback([=, s = s, name = std::string(name), arrives = arrives, &action] {
      action = [=] { return run_defaults(*s, name, arrives); };
    });
  }
  const auto [one, s] = add_case("posteriors", "every sampler on posteriors whose moments are known");
  auto& p = s->posteriors;
  one->add_flag("--quick", p.quick, "small budgets and no runs without options: under a minute");
  one->add_option("--only", p.only, "posteriors, or models that stand for several")->delimiter(',');
  one->add_option(
         "--posteriordb", p.posteriordb,
         "folder with MODEL.data.json and MODEL.reference.json of Stan's posteriordb, whose models are then "
         "among the posteriors")
      ->type_name("DIR");
  one->add_option("--samplers", p.samplers, "`onward samplers` lists them")->delimiter(',');
  one->add_option("--parts", p.parts, "of tuned, untuned, ways, defaults, stays, prices")->delimiter(',');
  add_count(*one, "--budget", p.budget, 1000, "plain evaluations of the density that a run may cost");
  one->add_option("--out", s->out, "folder for posteriors.md and posteriors.json");
  one->add_flag("--force", s->force, "replace those that are there");
  one->add_flag("--make-truth", s->make_truth, "print models/reference_moments.hpp instead: minutes");
  one->callback([s = s, &action] { action = [s] { return run_posteriors(*s); }; });
}

}  // namespace onward::app
