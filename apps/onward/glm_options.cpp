#include "glm_options.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/util/suggest.hpp"

namespace onward::app {
namespace {

using glm::Design;
using glm::Family;
using glm::Prior;

/// normal:SCALE, student-t:DF:SCALE or flat.
Prior parse_prior(const std::string& option, const std::string& word) {
  const auto wrong = [&] {
    return UsageError(
        fmt::format("{} {} is not known: it is normal:SCALE, student-t:DF:SCALE or flat, as in {} normal:2.5",
                    option, word, option));
  };
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find(':', begin), word.size());
    parts.push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto positive = [&](const std::string& part, const char* what) {
    const double number = parse_number(option, part);
    if (!(number > 0) || !std::isfinite(number))
      throw UsageError(fmt::format("{} {}: {} is {}, and must be above 0", option, word, what, number));
    return number;
  };
  if (parts[0] == "flat" && parts.size() == 1) return Prior::flat();
  if (parts[0] == "normal" && parts.size() == 2) return Prior::normal(0, positive(parts[1], "the scale"));
  if (parts[0] == "student-t" && parts.size() == 3)
    return Prior::student_t(positive(parts[1], "the number of degrees of freedom"), 0,
                            positive(parts[2], "the scale"));
  throw wrong();
}

/// The family, taking the link into account: probit and cloglog are links of bernoulli.
Family parse_family_and_link(const GlmWords& words) {
  const Family family = glm::parse_family(words.family);
  if (words.link.empty()) return family;
  std::vector<std::string> links;
  switch (family) {
    case Family::gaussian:
      links = {"identity"};
      break;
    case Family::bernoulli:
      links = {"logit", "probit", "cloglog"};
      break;
    case Family::probit:
    case Family::cloglog:
      links = {words.family};
      break;
    case Family::binomial:
    case Family::categorical:
      links = {"logit"};
      break;
    case Family::poisson:
    case Family::negative_binomial:
      links = {"log"};
      break;
  }
  if (std::find(links.begin(), links.end(), words.link) == links.end())
    throw UsageError(fmt::format("--link {} is not one of family {}: {} {}", words.link, words.family,
                                 links.size() > 1 ? "they are" : "it is", joined(links)));
  if (words.link == "probit") return Family::probit;
  if (words.link == "cloglog") return Family::cloglog;
  return family;
}

/// A file of one number a row.
std::vector<double> read_rows(const std::string& option, const std::string& file) {
  const NpyArray array = read_npy(file);
  if (array.shape.empty() || array.shape.size() > 2)
    throw Error(fmt::format("{} {} has shape ({}): it must hold one number a row", option, file,
                            fmt::join(array.shape, ", ")));
  if (array.shape.size() == 2 && array.shape[0] != 1 && array.shape[1] != 1)
    throw Error(fmt::format("{} {} holds {} x {} numbers: it must hold one a row", option, file, array.rows(),
                            array.columns()));
  return array.to_doubles();
}

/// X as its file has it: bytes stay bytes, and numbers become floats row by row.
Design read_design(const GlmWords& words, std::span<const std::string> names) {
  NpyReader reader(words.x);
  const NpyHeader header = reader.header();
  if (header.shape.empty() || header.shape.size() > 2)
    throw Error(fmt::format("--x {} has shape ({}): it must have two dimensions, a row an observation",
                            words.x, fmt::join(header.shape, ", ")));
  const bool intercept = !words.no_intercept;
  if (header.dtype == "|u1" && !header.fortran_order) {
    const NpyArray array = std::move(reader).read_all();
    return Design::bytes(array.as<std::uint8_t>(), header.rows(), header.columns(), 1, 0, intercept);
  }
  if (header.fortran_order) {
    const NpyArray array = std::move(reader).read_all();
    std::optional<Design> design;
    array.visit([&](const auto& values) {
      design = Design::from_rows(
          header.rows(), header.columns(), intercept,
          [&](std::size_t i, std::span<double> row) {
            for (std::size_t j = 0; j < row.size(); ++j)
              row[j] = static_cast<double>(values[i + j * header.column_stride()]);
          },
          names);
    });
    return std::move(*design);
  }
  Design design = Design::from_rows(
      header.rows(), header.columns(), intercept,
      [&](std::size_t, std::span<double> row) { reader.next(row); }, names);
  reader.finish();
  return design;
}

/// True if the bytes are UTF-8: no stray or missing continuation, no form longer than it need be, no
/// surrogate and nothing beyond the last code point.
bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xc2 ? 0
                               : first < 0xe0 ? 2
                               : first < 0xf0 ? 3
                               : first < 0xf5 ? 4
                                              : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    const unsigned second = length > 1 ? byte(i + 1) : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return false;
    i += length;
  }
  return true;
}

std::vector<std::string> read_names(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw Error(fmt::format("--names {} cannot be read: give a file with a name a line", file));
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const std::size_t number = names.size() + 1;
    if (!is_utf8(line))
      throw Error(
          fmt::format("--names {}: line {} is not UTF-8: save the file in that encoding", file, number));
    const bool control =
        std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (control)
      throw Error(fmt::format("--names {}: line {} has a control character, such as a tab: take it out", file,
                              number));
    if (line.empty() || line.find_first_of(",\"") != std::string::npos)
      throw Error(
          fmt::format("--names {}: line {} is '{}': a name must not be empty nor have commas or quotes", file,
                      number, line));
    names.push_back(line);
  }
  if (names.empty())
    throw Error(
        fmt::format("--names {} is empty: it must have a name for each column of X, a line each", file));
  return names;
}

void require(const std::string& option, const std::string& value, const std::string& what) {
  if (value.empty()) throw UsageError(fmt::format("{0} is missing: glm needs {0} {1}", option, what));
}

}  // namespace

std::vector<const CLI::Option*> add_glm_options(CLI::App& command, GlmWords& words) {
  std::vector<const CLI::Option*> options;
  const auto with_heading = [&](CLI::Option* option) {
    option->group(
        "Options of the model glm, a regression on plain arrays (net has --x, --y and --sigma too)");
    options.push_back(option);
  };
  const auto add = [&](const char* name, std::string& value, const std::string& description) {
    with_heading(command.add_option(name, value, description));
  };
  add("--x", words.x, "FILE.npy with the predictors, a row an observation");
  add("--y", words.y, "FILE.npy with the outcomes");
  add("--family", words.family, joined(glm::family_names()));
  add("--link", words.link, "for bernoulli: logit, probit or cloglog [logit]");
  add("--trials", words.trials, "binomial: FILE.npy with the number of trials of each row");
  add("--offset", words.offset, "FILE.npy with what is added to the predictor");
  add("--weights", words.weights, "FILE.npy: how many times a row counts");
  add("--prior", words.prior,
      "of the coefficients: normal:SCALE, student-t:DF:SCALE or flat [normal, 2.5 divided by the column's "
      "sd; "
      "gaussian: times the sd of y]");
  add("--prior-intercept", words.prior_intercept,
      "of the intercept at the means of the columns [normal:10; gaussian: 10 sds of y about its mean]");
  add("--prior-scale", words.prior_scale,
      "of sigma or phi, cut at 0 [student-t:3:2.5; gaussian: 2.5 sds of y]");
  with_heading(command.add_flag("--no-intercept", words.no_intercept, "no column of ones before those of X"));
  add_number(command, "--sigma", words.sigma, "gaussian: known; without it sampled");
  with_heading(command.get_option("--sigma"));
  add_number(command, "--phi", words.phi, "negative-binomial: known; without it sampled");
  with_heading(command.get_option("--phi"));
  add("--names", words.names, "file with a name for each column of X, a line each");
  return options;
}

void refuse_glm_options(const std::vector<const CLI::Option*>& options, const std::string& model,
                        const std::vector<std::string>& shared) {
  for (const auto* option : options)
    if (option->count() > 0 && std::find(shared.begin(), shared.end(), option->get_name()) == shared.end())
      throw UsageError(fmt::format("{} belongs to the model glm, not to {}.{}", option->get_name(), model,
                                   suggestion(model, std::vector<std::string>{"glm"})));
}

glm::Posterior make_regression(const GlmWords& words, std::shared_ptr<ThreadPool> pool) {
  require("--x", words.x, "FILE.npy, the predictors");
  require("--y", words.y, "FILE.npy, the outcomes");
  require("--family", words.family, "NAME, one of " + joined(glm::family_names()));
  const Family family = parse_family_and_link(words);
  glm::PosteriorOptions options;
  if (!words.prior.empty()) options.coefficients = parse_prior("--prior", words.prior);
  if (!words.prior_intercept.empty())
    options.intercept = parse_prior("--prior-intercept", words.prior_intercept);
  if (!words.prior_scale.empty()) options.scale = parse_prior("--prior-scale", words.prior_scale);
  if (words.sigma && family != Family::gaussian)
    throw UsageError(fmt::format("--sigma is for the gaussian family, not for {}", words.family));
  if (!words.prior_scale.empty() && family != Family::gaussian && family != Family::negative_binomial)
    throw UsageError(fmt::format("--prior-scale is of sigma or phi, which {} has not", words.family));
  if (!words.prior_intercept.empty() && words.no_intercept)
    throw UsageError("--prior-intercept and --no-intercept do not go together");
  if (words.phi && family != Family::negative_binomial)
    throw UsageError(fmt::format("--phi is for the negative-binomial family, not for {}", words.family));
  const auto above_0 = [](const char* option, const std::optional<double>& value) {
    if (value && (!(*value > 0) || !std::isfinite(*value)))
      throw UsageError(fmt::format("{} is {}: it must be a finite number above 0", option, *value));
  };
  above_0("--sigma", words.sigma), above_0("--phi", words.phi);
  if (family == Family::binomial) require("--trials", words.trials, "FILE.npy for the binomial family");
  options.known_scale = words.sigma ? words.sigma : words.phi;
  if (!words.names.empty()) options.column_names = read_names(words.names);

  glm::RowOptions rows;
  const auto y = read_rows("--y", words.y);
  if (!words.trials.empty()) rows.trials = read_rows("--trials", words.trials);
  if (!words.offset.empty()) rows.offset = read_rows("--offset", words.offset);
  if (!words.weights.empty()) rows.weights = read_rows("--weights", words.weights);
  auto observations = std::make_shared<glm::Observations>(family, y, rows);
  auto design = std::make_shared<Design>(read_design(words, options.column_names));
  return glm::Posterior(std::move(design), std::move(observations), std::move(options), std::move(pool));
}

nlohmann::ordered_json priors_json(const glm::Posterior& posterior) {
  const auto one = [](const Prior& prior) -> nlohmann::ordered_json {
    switch (prior.kind) {
      case Prior::Kind::flat:
        return {{"distribution", "flat"}};
      case Prior::Kind::normal:
        return {{"distribution", "normal"}, {"location", prior.location}, {"scale", prior.scale}};
      case Prior::Kind::student_t:
        return {{"distribution", "student-t"},
                {"degrees", prior.degrees},
                {"location", prior.location},
                {"scale", prior.scale}};
    }
    return {};
  };
  const bool intercept = posterior.design().has_intercept();
  nlohmann::ordered_json json, coefficients = nlohmann::ordered_json::array();
  if (intercept) {
    json["intercept"] = one(posterior.priors()[0]);
    json["intercept"]["at"] = posterior.means().empty() ? "0" : "the means of the predictors";
  }
  const auto& names = posterior.options().column_names;
  for (std::size_t j = intercept ? 1 : 0; j < posterior.priors().size(); ++j) {
    const std::size_t column = j - (intercept ? 1 : 0);
    nlohmann::ordered_json entry{
        {"name", names.empty() ? fmt::format("beta.{}", column + 1) : names[column]}};
    entry.update(one(posterior.priors()[j]));
    if (!posterior.means().empty()) entry["mean_of_predictor"] = posterior.means()[j];
    coefficients.push_back(std::move(entry));
  }
  json["coefficients"] = std::move(coefficients);
  if (posterior.samples_scale()) json[posterior.names().back()] = one(posterior.scale_prior());
  return json;
}

nlohmann::ordered_json glm_json(const GlmWords& words) {
  nlohmann::ordered_json json{{"name", "glm"}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  add("x", words.x), add("y", words.y), add("family", words.family), add("link", words.link);
  add("trials", words.trials), add("offset", words.offset), add("weights", words.weights);
  add("prior", words.prior), add("prior_intercept", words.prior_intercept);
  add("prior_scale", words.prior_scale), add("names", words.names);
  if (words.sigma) json["sigma"] = *words.sigma;
  if (words.phi) json["phi"] = *words.phi;
  if (words.no_intercept) json["intercept"] = false;
  return json;
}

}  // namespace onward::app
