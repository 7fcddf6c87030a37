// `onward bench CASE`: figures beside their peers and bars. The exit code says that it ran, not that bars
// were met.

#include <memory>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "commands.hpp"
#include "onward/util/suggest.hpp"

namespace onward::app {
namespace {

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

int run_bench(const std::string& name, bool json) {
  const auto rows = bench::run(name);
  if (json) {
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
    const nlohmann::ordered_json out{
        {"case", name}, {"cores", std::thread::hardware_concurrency()}, {"results", results}};
    fmt::print("{}\n", out.dump(1));
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

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  static std::string name;
  static bool json = false;
  auto* command = app.add_subcommand("bench", "measure this machine: figures beside their peers");
  const auto names = bench::cases();
  command->add_option("CASE", name, "one of: " + joined(names))->required();
  command->add_flag("--json", json, "one JSON object on stdout");
  command->callback([&action] { action = [] { return run_bench(name, json); }; });
}

}  // namespace onward::app
