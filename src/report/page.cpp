#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "assets.hpp"
#include "encode.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/util/thread_pool.hpp"
#include "onward/version.hpp"
#include "parts.hpp"

namespace onward::report {

using nlohmann::ordered_json;

namespace {

void check(const Input& input) {
  if (input.names.empty() && input.predictions) return;  // a run that kept nothing else
  if (input.names.empty() || input.chains == 0 || input.draws == 0 || !input.column)
    throw Error(fmt::format("the run {} has no draws, so there is nothing to report", input.name));
  if (!input.parameters.empty() && input.parameters.size() != input.names.size())
    throw UsageError(fmt::format("the run {} has {} parameters and {} summaries: give one for each, or none",
                                 input.name, input.names.size(), input.parameters.size()));
}

/// Which parameters have pictures: those that the run is about, then the worst of the rest.
std::vector<std::size_t> pictured(const Input& input, std::size_t most) {
  std::vector<std::size_t> order(input.names.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (order.size() <= most) return order;
  const std::size_t first = std::min(input.shown.value_or(most / 2), most / 2);
  const auto badness = [&](std::size_t i) {
    const auto& s = input.parameters[i];
    return std::isnan(s.rhat) || std::isnan(s.ess_bulk) ? INFINITY : s.rhat - 1 + 1 / (1 + s.ess_bulk);
  };
  std::ranges::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(),
                           [&](std::size_t a, std::size_t b) { return badness(a) > badness(b); });
  order.resize(most);
  std::ranges::sort(order);
  return order;
}

/// The mean of a parameter called sigma, the noise of a network.
std::optional<double> sampled_sigma(const Input& input) {
  for (const auto& row : input.parameters)
    if (row.name == "sigma") return row.mean;
  return std::nullopt;
}

const char* word_of_level(Verdict::Level level) {
  return level == Verdict::Level::good ? "good" : level == Verdict::Level::doubtful ? "doubtful" : "bad";
}

Chains cut(Chains chains, std::size_t draws) {
  for (auto& chain : chains) chain.resize(draws, NAN);
  return chains;
}

ordered_json parameters_json(const Input& input, const Shape& shape, const Options& options,
                             const std::function<void(std::size_t)>& done) {
  std::vector<ordered_json> rows(input.names.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row_of(input.parameters[i]);
  const auto with_pictures = pictured(input, options.pictured);
  ThreadPool pool(std::min(threads_or_all(options.threads), std::max<std::size_t>(with_pictures.size(), 1)));
  const auto caller = std::this_thread::get_id();
  std::atomic<std::size_t> finished{0};
  pool.for_each(with_pictures.size(), [&](std::size_t k) {
    const std::size_t i = with_pictures[k];
    rows[i].update(pictures_of(input.parameters[i], input.column(i), shape));
    const std::size_t so_far = ++finished;
    if (std::this_thread::get_id() == caller) done(so_far);
  });
  if (input.shown)
    for (std::size_t i = *input.shown; i < rows.size(); ++i) rows[i]["level"] = true;
  return rows;
}

ordered_json warmup_json(const Input& input) {
  auto list = ordered_json::array();
  for (const auto& chain : input.warmup)
    list.push_back({{"steps", encoded(chain.steps)},
                    {"step_size", encoded(chain.step_size)},
                    {"acceptance", encoded(chain.acceptance)}});
  const bool empty = std::ranges::all_of(input.warmup, [](const auto& chain) { return chain.steps.empty(); });
  return empty ? ordered_json(nullptr) : list;
}

ordered_json run_json(const Input& input, const Options& options,
                      const std::function<void(std::size_t)>& done) {
  Shape shape(input.chains, input.draws);
  constexpr std::size_t most_divergent = 200;
  shape.divergent = divergent_draws(input, most_divergent);
  const Verdict judgement = verdict(input, options.words);
  ordered_json summary = input.summary.is_object() ? input.summary : ordered_json::object();
  summary.erase("parameters");  // they are in the table
  ordered_json json{{"name", input.name},
                    {"model", model_name(input)},
                    {"chains", input.chains},
                    {"draws", input.draws},
                    {"run", input.run.is_object() ? input.run : ordered_json::object()},
                    {"summary", std::move(summary)},
                    {"verdict",
                     {{"level", word_of_level(judgement.level)},
                      {"headline", judgement.headline},
                      {"reasons", judgement.reasons}}},
                    {"notes", input.notes},
                    {"trace", {{"extremes", shape.extremes}, {"at", encoded(shape.trace)}}},
                    {"joint", shape.joint.size()},
                    {"growth", shape.growth}};
  if (input.shown) json["shown"] = *input.shown;
  json["parameters"] = parameters_json(input, shape, options, done);
  if (!input.log_density.empty()) json["log_density"] = trace_of(cut(input.log_density, input.draws), shape);
  if (!input.acceptance.empty()) {
    // Steps from draw to draw are few, so single values tell little: pieces are shown by their means.
    std::vector<double> means;
    constexpr std::size_t pieces = 50;
    const std::size_t size = std::min(pieces, input.draws);
    for (const auto& chain : cut(input.acceptance, input.draws))
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t begin = i * input.draws / size, end = (i + 1) * input.draws / size;
        double sum = 0;
        for (std::size_t d = begin; d < end; ++d) sum += chain[d];
        means.push_back(sum / static_cast<double>(end - begin));
      }
    json["acceptance"] = {{"pieces", size}, {"values", encoded(means)}};
  }
  if (!input.trajectories.empty()) json["trajectories"] = trajectories_json(input);
  json["warmup"] = warmup_json(input);
  if (input.regression) json["regression"] = regression_json(*input.regression);
  if (input.predictions) {
    const auto sigma = input.predictions->sigma ? input.predictions->sigma : sampled_sigma(input);
    json["predictions"] = predictions_json(*input.predictions, sigma, input.summary);
  }
  return json;
}

/// So that nothing in the data can end the script that holds them.
std::string safe_in_script(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

/// Puts `values` where the text has {{name}}.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find("{{", at);
    result += text.substr(at, begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find("}}", begin);
    const auto name = text.substr(begin + 2, end - begin - 2);
    const auto value = std::ranges::find(values, name, &std::pair<std::string_view, std::string_view>::first);
    if (value != values.end()) result += value->second;
    at = end + 2;
  }
  return result;
}

void require_one_model(const Input& one, const Input& other) {
  for (const Input* input : {&one, &other})
    if (input->names.empty())
      throw Error(fmt::format(
          "the run {} kept its predictions and no draws: runs are compared by their draws", input->name));
  if (model_name(one) != model_name(other))
    throw Error(
        fmt::format("{} is a run of {} and {} is one of {}: two runs are compared if they are of one model",
                    one.name, model_name(one), other.name, model_name(other)));
  const std::set<std::string> there(other.names.begin(), other.names.end());
  for (const auto& name : one.names)
    if (!there.contains(name))
      throw Error(
          fmt::format("{} has the parameter {}, which {} has not: two runs are compared if they are of one "
                      "model; different models of the same data are compared by `onward loo`",
                      one.name, name, other.name));
  if (one.names.size() != other.names.size())
    throw Error(
        fmt::format("{} has {} parameters and {} has {}: two runs are compared if they are of one model",
                    one.name, one.names.size(), other.name, other.names.size()));
}

}  // namespace

std::string model_name(const Input& input) {
  if (input.run.is_object() && input.run.contains("model") && input.run.at("model").is_object())
    return input.run.at("model").value("name", "model");
  return "model";
}

std::string missing() {
  if (!assets::chart_js.empty()) return "";
  return "the page has no charts, because the charting library uPlot was not there when onward was built: "
         "install npm, then configure and build onward again where the network is";
}

std::string page(const std::vector<Input>& given, const Options& options) {
  if (given.empty() || given.size() > 2)
    throw UsageError(fmt::format("a report is of one run, or compares two: {} were given", given.size()));
  std::vector<Input> runs = given;
  for (const Input& input : runs) check(input);
  if (runs.size() == 2) require_one_model(runs[0], runs[1]);
  std::size_t before = 0, all = 0;
  for (const Input& input : runs) all += 2 * input.names.size();
  const auto done = [&](std::size_t so_far) {
    if (options.progress) options.progress(std::min(before + so_far, all), all);
  };
  for (Input& input : runs) {
    if (input.parameters.empty())
      input.parameters = summarise_all(input.names, input.column, options.threads, done);
    before += input.names.size();
  }
  ordered_json data{{"onward", version}, {"runs", ordered_json::array()}, {"missing", missing()}};
  for (const Input& input : runs) {
    data["runs"].push_back(run_json(input, options, done));
    before += input.names.size();
  }
  if (runs.size() == 2)
    data["comparison"] = comparison_json(runs[0], runs[0].parameters, runs[1], runs[1].parameters);
  const std::string title = runs.size() == 2 ? fmt::format("{} and {}", runs[0].name, runs[1].name)
                                             : fmt::format("{}: {}", model_name(runs[0]), runs[0].name);
  const std::string json = safe_in_script(json_text(data)), heading = escaped(title);
  return filled(assets::html, {{"title", heading},
                               {"chart_css", assets::chart_css},
                               {"css", assets::css},
                               {"chart_js", assets::chart_js},
                               {"js", assets::js},
                               {"data", json}});
}

void write(const std::filesystem::path& file, const std::vector<Input>& runs, const Options& options) {
  write_file_atomically(file, page(runs, options));
}

}  // namespace onward::report
