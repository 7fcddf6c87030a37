#include "problem.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../io/input_file.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/vector_file.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"
#include "words.hpp"

namespace onward::detail {
namespace {

using nlohmann::ordered_json;

const std::vector<std::string> problem_fields{"data", "noise", "noise_sd", "prior"};

/// The fields of `problem`, and over them those that were given by themselves.
class Fields {
 public:
  Fields(const OptionValues& options, const BuildFor& what_for) : options_(options), what_for_(what_for) {
    if (!options.has("problem")) return;
    in_file_ = read_json_option(options, "problem");
    for (const auto& [field, value] : in_file_.items())
      if (std::ranges::find(problem_fields, field) == problem_fields.end())
        throw UsageError(fmt::format("`problem` has a field '{}' that is not known.{} It may have {}",
                                     printable(field), suggestion(field, problem_fields),
                                     joined(problem_fields)));
  }

  std::optional<std::vector<double>> numbers(const std::string& field) const {
    if (options_.has(field)) {
      const ArraySource source = what_for_.array(options_, field);
      return source.held ? source.held->to_doubles() : read_vector(source.word);
    }
    const auto found = in_file_.find(field);
    if (found == in_file_.end() || found->is_null()) return std::nullopt;
    if (found->is_string()) return read_vector(found->get<std::string>());
    return parse_vector(fmt::format("`{}` of `problem`", field), found->dump());
  }

  /// A sentence, several in an array, or an object of names and distributions.
  std::string text(const std::string& field) const {
    if (options_.has(field)) return options_.text(field);
    const auto found = in_file_.find(field);
    if (found == in_file_.end() || found->is_null()) return "";
    std::vector<std::string> parts;
    const auto add = [&](const std::string& before, const ordered_json& value) {
      if (!value.is_string())
        throw UsageError(fmt::format("`{}` of `problem` has {} where words are due", field, value.dump()));
      parts.push_back(before + value.get<std::string>());
    };
    if (found->is_object())
      for (const auto& [name, value] : found->items()) add(name + " ~ ", value);
    else if (found->is_array())
      for (const auto& value : *found) add("", value);
    else
      add("", *found);
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  const OptionValues& options_;
  const BuildFor& what_for_;
  ordered_json in_file_ = ordered_json::object();
};

/// The noise that words tell; `sd` are one for each datum, or empty.
Noise read_noise(const std::string& words, std::vector<double> sd) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("the `noise` '{}' cannot be read: {}. Write it as normal:0.1 with a standard deviation, "
                    "student_t:4:0.1 with "
                    "degrees of freedom and a scale, normal:sigma with a number that has a prior, or normal "
                    "with `noise_sd`",
                    printable(words), why));
  };
  const auto call = read_call(words.empty() ? "normal" : words);
  if (!call) refuse("its parentheses do not match");
  std::string name = call->name;
  std::ranges::replace(name, '-', '_');
  std::vector<std::string> arguments = call->arguments;
  Noise noise;
  if (name == "student_t") {
    const auto degrees = arguments.empty() ? std::nullopt : number_in(arguments.front());
    if (!degrees || !(*degrees > 0)) refuse("student_t begins with its degrees of freedom, a number above 0");
    noise.degrees = *degrees;
    arguments.erase(arguments.begin());
  } else if (name != "normal") {
    const std::vector<std::string> known{"normal", "student_t"};
    refuse(fmt::format("there is no noise '{}'.{}", printable(name), suggestion(name, known)));
  }
  if (!sd.empty()) {
    if (!arguments.empty()) refuse("`noise_sd` has its standard deviations already");
    noise.scale = std::move(sd);
    return noise;
  }
  if (arguments.size() != 1)
    refuse(arguments.empty() ? "it does not say its standard deviation" : "it has too many numbers");
  if (const auto number = number_in(arguments[0])) {
    if (!(*number > 0)) refuse(fmt::format("{} is not above 0", *number));
    noise.scale = {*number};
  } else {
    noise.parameter = arguments[0];
  }
  return noise;
}

std::vector<std::string> names_of(const std::vector<InputPriors::Entry>& entries) {
  std::vector<std::string> names;
  for (const auto& one : entries) names.push_back(one.name);
  return names;
}

/// Of inputs that have names, in the order of the inputs.
std::vector<InputPriors::Entry> in_order(std::vector<InputPriors::Entry> entries,
                                         const SimulatorFacts& facts) {
  const bool all = entries.size() == 1 && entries[0].is_vector && entries[0].size == facts.input_count();
  if (all) {  // one for all
    std::vector<InputPriors::Entry> each;
    for (const std::string& name : facts.input_names)
      each.push_back({name, 1, false, entries[0].prior, entries[0].text});
    each[0].text = entries[0].text;
    return each;
  }
  std::vector<InputPriors::Entry> sorted;
  for (const std::string& name : facts.input_names) {
    const auto found = std::ranges::find(entries, name, &InputPriors::Entry::name);
    if (found == entries.end())
      throw UsageError(
          fmt::format("the input {} of {} has no `prior`: give it one, as in \"{} ~ normal(0, 1)\"",
                      printable(name), facts.name, printable(name)));
    sorted.push_back(std::move(*found));
    entries.erase(found);
  }
  if (!entries.empty())
    throw UsageError(fmt::format("there is a `prior` of {}, which {} does not have.{} Its inputs: {}",
                                 entries.front().name, facts.name,
                                 suggestion(entries.front().name, facts.input_names),
                                 printable(joined(facts.input_names))));
  return sorted;
}

/// Priors of the inputs, and after them that of the noise.
InputPriors settled(const InputPriors& given, const SimulatorFacts& facts, const Noise& noise) {
  std::vector<InputPriors::Entry> inputs = given.entries(), of_noise;
  const auto scale = std::ranges::find(inputs, noise.parameter, &InputPriors::Entry::name);
  if (!noise.parameter.empty()) {
    if (scale == inputs.end())
      throw UsageError(
          fmt::format("the `noise` has the standard deviation {0}, which has no `prior`: give it one, "
                      "as in \"{0} ~ half_normal(1)\"",
                      printable(noise.parameter)));
    if (!scale->prior.is_positive())
      throw UsageError(
          fmt::format("the `prior` '{}' lets the noise's standard deviation be below 0: take one of "
                      "numbers above 0, as in \"{} ~ half_normal(1)\"",
                      printable(scale->text), scale->name));
    of_noise.push_back(*scale);
    inputs.erase(scale);
  }
  if (!facts.input_names.empty()) inputs = in_order(std::move(inputs), facts);
  std::size_t count = 0;
  for (const auto& one : inputs) count += one.size;
  if (count != facts.input_count())
    throw UsageError(
        fmt::format("{} has {} input{}, and there is a `prior` for {} ({}): give one for each, in their "
                    "order; \"k[{}] ~ normal(0, 1)\" is for {} that are alike",
                    facts.name, facts.input_count(), facts.input_count() == 1 ? "" : "s", count,
                    joined(names_of(inputs)), facts.input_count(), facts.input_count()));
  inputs.insert(inputs.end(), of_noise.begin(), of_noise.end());
  return InputPriors(std::move(inputs));
}

/// Nothing is known of the inputs: the log density says it all.
InputPriors flat_priors(const SimulatorFacts& facts) {
  std::vector<InputPriors::Entry> entries;
  if (facts.input_names.empty())
    entries.push_back({.name = "theta", .size = facts.input_count(), .is_vector = true});
  else
    for (const std::string& name : facts.input_names) entries.push_back({.name = name});
  return InputPriors(std::move(entries));
}

}  // namespace

std::string SimulatorProblem::words() const {
  std::vector<std::string> sentences;
  for (const auto& one : priors.entries())
    if (!one.text.empty() && (sentences.empty() || sentences.back() != one.text))
      sentences.push_back(one.text);
  if (sentences.empty()) return "";
  std::string text = fmt::format("priors: {}", printable(fmt::format("{}", fmt::join(sentences, "; "))));
  if (data) text += fmt::format("; noise: {}", printable(noise_words));
  return text;
}

ordered_json read_json_option(const OptionValues& options, const std::string& field) {
  const ordered_json& value = options.json().at(field);
  if (!value.is_string()) return value;
  const std::string file = value.get<std::string>();
  InputFile input(file, {"JSON file", "write one object"});
  constexpr std::size_t most = std::size_t{1} << 30;
  ordered_json json = parse_json<ordered_json>(input.read_rest(most), file);
  if (!json.is_object()) throw Error(fmt::format("{}: `{}` is an object, and this is none", file, field));
  return json;
}

SimulatorProblem read_problem(const SimulatorFacts& facts, const OptionValues& options,
                              const BuildFor& what_for) {
  const Fields fields(options, what_for);
  SimulatorProblem problem;
  problem.data = fields.numbers("data");
  const std::string noise = fields.text("noise"), prior = fields.text("prior");
  const auto sd = fields.numbers("noise_sd");
  const std::size_t outputs = facts.output_count();
  if (!problem.data) {
    if (!noise.empty() || sd) throw UsageError("`noise` is around data: give `data` too");
    if (outputs != 1)
      throw UsageError(fmt::format(
          "{} has {} outputs: give `data` with as many numbers, their `noise`, and a `prior` for each input",
          facts.name, outputs));
    problem.priors = prior.empty() ? flat_priors(facts)
                                   : settled(parse_input_priors(prior, facts.input_count()), facts, {});
    return problem;
  }
  if (problem.data->size() != outputs)
    throw UsageError(fmt::format("`data` has {} number{}, and {} has {} output{}: give one for each",
                                 problem.data->size(), problem.data->size() == 1 ? "" : "s", facts.name,
                                 outputs, outputs == 1 ? "" : "s"));
  if (noise.empty() && !sd)
    throw UsageError("`data` need `noise`: say how far observations are from the outputs, as in normal:0.1");
  if (prior.empty())
    throw UsageError(
        fmt::format("the inputs need a `prior`: give one for each of the {}, as in \"normal(0, 1)\"",
                    facts.input_count()));
  problem.noise = read_noise(noise, sd.value_or(std::vector<double>{}));
  problem.noise_words = noise.empty() ? "normal" : noise;
  if (sd) problem.noise_words += " with `noise_sd`";
  problem.priors = settled(parse_input_priors(prior, facts.input_count()), facts, problem.noise);
  return problem;
}

}  // namespace onward::detail
