// `onward replay`: states of a run that was kept as a trace, and what they predict.

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "earlier_run.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/io/trace.hpp"
#include "onward/record/earlier.hpp"
#include "program.hpp"
#include "sample_plan.hpp"

namespace onward::app {
namespace {

struct Request {
  std::string folder, draws, out, predict;
  std::uint64_t chain = 0;  ///< 0: all
  bool force = false, quiet = false;
};

/// "1,100,5000" in ascending order.
std::vector<std::size_t> parse_list(const std::string& text) {
  std::vector<std::size_t> list;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(parse_count("--draws", text.substr(begin, end - begin), 1));
    begin = end + 1;
  }
  std::ranges::sort(list);
  return list;
}

void write_doubles(const std::string& file, std::vector<std::size_t> shape, const std::vector<double>& values,
                   bool force) {
  if (!force && std::filesystem::exists(file))
    throw Error(fmt::format("{} exists already: choose another --out, or replace it with --force", file));
  const auto bytes = std::as_bytes(std::span(values));
  write_npy(file, {{std::move(shape), "<f8"}, {bytes.begin(), bytes.end()}});
}

int replay(const Request& request) {
  if (request.out.empty()) throw UsageError("--out is missing: name the .npy file to write");
  if (request.draws.empty() && request.predict.empty())
    throw UsageError(
        "say which draws are wanted, --draws 1,100, or what they are to predict, --predict FILE.npy");
  const auto stored = read_run_json(request.folder);
  if (stored.value("keep", "") != "trace")
    throw Error(
        fmt::format("the run in {} was not kept as a trace: sample with --keep trace", request.folder));
  // The model and the settings come from the run's own words.
  CLI::App app;
  const auto s = add_sample_options(&app);
  std::vector<std::string> words = words_of_run(app, request.folder, {});
  if (!request.predict.empty()) words.insert(words.end(), {"--test-x", request.predict});
  for (CLI::Option* option : app.get_options())
    if (option->get_expected_max() == 1) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  std::ranges::reverse(words);
  app.parse(words);
  s->quiet = true;
  s->spec = spec_of(s->words);
  s->spec.files = ModelSpec::from_json(stored["model"]).files;  // which must not have changed
  read_words(*s);
  Plan plan = make_plan(*s);
  if (!plan.target) throw Error(fmt::format("{} has no sampler that goes along lines", s->spec.kind));
  s->run.start = std::move(plan.model.start);
  const RunSettings resolved = plan.maker->resolve(s->run);
  if (request.chain > resolved.chains)
    throw UsageError(fmt::format("--chain {}: the run has {}", request.chain, resolved.chains));

  const auto predictions = request.predict.empty() ? nullptr : plan.model.make_sink(1, nullptr);
  std::vector<double> states;
  std::size_t count = 0;
  for (std::size_t chain = 0; chain < resolved.chains; ++chain) {
    if (request.chain > 0 && chain + 1 != request.chain) continue;
    Replay walk(request.folder, *plan.target, resolved, chain);
    std::vector<std::size_t> list = parse_list(request.draws);
    if (list.empty())
      for (std::size_t draw = 1; draw <= walk.draws(); ++draw) list.push_back(draw);
    for (const std::size_t draw : list) {
      const std::vector<double>& state = walk.state_of(draw);
      ++count;
      if (request.predict.empty())
        states.insert(states.end(), state.begin(), state.end());
      else
        predictions->drawn(
            0, Draw{.log_density = 0, .acceptance = 0, .step_size = 0, .parameters = {}, .position = state});
    }
  }
  if (request.predict.empty()) {
    write_doubles(request.out, {count, plan.maker->dimension()}, states, request.force);
    if (!request.quiet)
      say("{}: {} of {}\n", request.out, counted(count, "state"),
          counted(plan.maker->dimension(), "parameter"));
    return done;
  }
  const PredictedMeans means = predictions->means();
  write_doubles(request.out, {means.rows, means.width}, means.values, request.force);
  if (!request.quiet)
    say("{}: predictions of {} by {}\n", request.out, counted(means.rows, "row"), counted(count, "draw"));
  return done;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  auto* command =
      app.add_subcommand("replay", "states of a run that was kept as a trace, or what they predict");
  command->add_option("DIR", request->folder, "the run's folder")->required();
  command->add_option("--draws", request->draws,
                      "which draws of each chain, counted from 1, such as 1,100,5000 [with --predict: all]");
  add_count(*command, "--chain", request->chain, 0, "of this chain alone, counted from 1; 0: of all");
  command->add_option("--predict", request->predict,
                      "network: FILE.npy with inputs, in place of states their predictions");
  command->add_option("--out", request->out,
                      "the .npy file to write: a row for each state, chain after chain");
  command->add_flag("--force", request->force, "replace that file");
  command->add_flag("--quiet", request->quiet, "no notes");
  command->callback([request, &action] { action = [request] { return replay(*request); }; });
}

}  // namespace onward::app
