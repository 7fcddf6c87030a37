// `onward sbc`: whether priors, model and sampler of a regression fit together, by data made up from them.

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "model_options.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/glm/calibration.hpp"
#include "onward/io/json.hpp"
#include "onward/plot/rank_picture.hpp"
#include "onward/util/suggest.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using glm::Calibration;
using glm::RankHistogram;

struct Settings {
  ModelWords words;
  std::uint64_t replicates = 200, draws = 127, seed = 1, threads = 0;
  std::string simulate_prior, picture;
  bool json = false, force = false, quiet = false;
};

std::string verdict(const Calibration& result) {
  std::vector<std::string> outside;
  for (const RankHistogram& parameter : result.parameters)
    if (!parameter.within) outside.push_back(parameter.name);
  if (outside.empty())
    return fmt::format("All {} histograms are within their 99.9% bands.", result.parameters.size());
  return fmt::format(
      "Outside of {} 99.9% band: {}. Either the sampler does not sample what the model says, or the priors "
      "that "
      "parameters came from are not those that it has.",
      outside.size() == 1 ? "its" : "their", joined(outside));
}

std::string table_of(const Calibration& result) {
  std::size_t width = 4;
  for (const RankHistogram& parameter : result.parameters) width = std::max(width, parameter.name.size());
  std::string text = fmt::format("{:<{}}  {:>5}  {:>5}  {:>6}  {:>6}  {:>7}\n", "name", width, "least",
                                 "most", "bias", "spread", "in band");
  for (const RankHistogram& parameter : result.parameters) {
    const auto [least, most] = std::ranges::minmax(parameter.counts);
    text += fmt::format("{:<{}}  {:>5}  {:>5}  {:>6.2f}  {:>6.2f}  {:>7}\n", parameter.name, width, least,
                        most, parameter.bias, parameter.spread, parameter.within ? "yes" : "NO");
  }
  return text;
}

nlohmann::ordered_json json_of(const Calibration& result, const Settings& s) {
  auto list = nlohmann::ordered_json::array();
  for (const RankHistogram& parameter : result.parameters)
    list.push_back({{"name", parameter.name},
                    {"within", parameter.within},
                    {"bias", parameter.bias},
                    {"spread", parameter.spread},
                    {"counts", parameter.counts},
                    {"ranks", parameter.ranks}});
  return {{"replicates", result.replicates},
          {"draws", result.draws},
          {"seed", s.seed},
          {"bins", result.bins},
          {"band", {result.low, result.high}},
          {"within", std::ranges::all_of(result.parameters, &RankHistogram::within)},
          {"most_thinning", result.most_thinning},
          {"least_ess", result.least_ess},
          {"priors", result.priors},
          {"parameters", std::move(list)}};
}

int run_sbc(const Settings& s) {
  if (!s.picture.empty() && !s.force && fs::exists(s.picture))
    throw Error(
        fmt::format("{} exists already: choose another --picture, or replace it with --force", s.picture));
  const std::atomic<bool>& stop = stop_when_told();
  ProgressBar bar(s.quiet);
  const auto result = glm::calibrate(
      spec_of(s.words),
      {.replicates = s.replicates,
       .draws = s.draws,
       .seed = s.seed,
       .threads = s.threads,
       .simulated_prior = s.simulate_prior,
       .stop = &stop,
       .progress = [&](std::size_t done) { bar.show_pieces(done, s.replicates, "", "replicates"); }});
  bar.clear();
  if (!result) {
    if (!s.quiet) say("interrupted: there is no result, and nothing was written\n");
    return interrupted;
  }
  if (!s.quiet) {
    for (const auto& note : result->notes) say("note: {}\n", note);
    if (result->least_ess < 0.5 * static_cast<double>(s.draws))
      say("note: in some replicate the {} draws are worth only {:.0f} independent ones, {} sweeps apart: "
          "ranks "
          "may pile up at the ends for that reason\n",
          s.draws, result->least_ess, result->most_thinning);
  }
  if (!s.picture.empty()) {
    std::vector<plot::RankPanel> panels;
    for (const RankHistogram& parameter : result->parameters)
      panels.push_back({parameter.name, parameter.counts, parameter.within});
    plot::rank_picture(s.picture, std::move(panels), static_cast<double>(result->low),
                       static_cast<double>(result->high));
  }
  if (s.json) {
    fmt::print("{}\n", json_text(json_of(*result, s)));
    return done;
  }
  const std::string text = fmt::format(
      "{} replicates, ranks among {} draws in {} bins; {:.4g} are expected in a bin, and {} to {} are within "
      "the band\n\n"
      "{}\nbias: below 0 where draws are too large; spread: above 0 where they are too narrow; both in "
      "standard errors\n"
      "priors: {}\n\n{}\n",
      result->replicates, result->draws, result->bins,
      static_cast<double>(result->replicates) / static_cast<double>(result->bins), result->low, result->high,
      table_of(*result), result->priors, verdict(*result));
  fmt::print("{}", printable(text, true));
  return done;
}

}  // namespace

void add_sbc(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand(
      "sbc", "whether priors, model and sampler of a regression fit together: simulation-based calibration");
  add_model_options(*command, s->words, false, "glm");
  add_count(*command, "--replicates", s->replicates, 1, "data sets that are made up and sampled");
  add_count(*command, "--draws", s->draws, 1,
            "nearly independent draws of each, among which ranks are taken");
  command
      ->add_option(
          "--simulate-prior", s->simulate_prior,
          "priors that parameters come from in place of those that the sampler has, to see ranks tell")
      ->type_name("TEXT")
      ->multi_option_policy(CLI::MultiOptionPolicy::Join)
      ->delimiter(';');
  add_count(*command, "--seed", s->seed, 0, "of parameters, data and draws");
  add_count(*command, "--threads", s->threads, 0, "0: as many as there are cores");
  command->add_option("--picture", s->picture, "write histograms of ranks: .png or .svg")->type_name("FILE");
  command->add_flag("--force", s->force, "replace that file");
  command->add_flag("--json", s->json, "one JSON object on stdout instead of the table");
  command->add_flag("--quiet", s->quiet, "no notes or progress");
  command->callback([s, &action] { action = [s] { return run_sbc(*s); }; });
}

}  // namespace onward::app
