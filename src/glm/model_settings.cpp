#include "model_settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/glm/prior_words.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

/// normal:SCALE, student-t:DF:SCALE or flat.
Prior parse_prior(const std::string& field, const std::string& word) {
  const auto wrong = [&] {
    return UsageError(fmt::format(
        "`{0}` {1} is not known: it is normal:SCALE, student-t:DF:SCALE or flat, as in `{0}` normal:2.5",
        field, word));
  };
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find(':', begin), word.size());
    parts.push_back(word.substr(begin, end - begin));
    begin = end + 1;
  }
  const auto positive = [&](const std::string& part, const char* what) {
    double number = 0;
    const char* const end = part.data() + part.size();
    const auto [at, error] = std::from_chars(part.data(), end, number);
    if (error != std::errc{} || at != end || !(number > 0) || !std::isfinite(number))
      throw UsageError(
          fmt::format("`{}` {}: {} is {}, and must be a number above 0", field, word, what, part));
    return number;
  };
  if (parts[0] == "flat" && parts.size() == 1) return Prior::flat();
  if (parts[0] == "normal" && parts.size() == 2) return Prior::normal(0, positive(parts[1], "the scale"));
  if (parts[0] == "student-t" && parts.size() == 3)
    return Prior::student_t(positive(parts[1], "the number of degrees of freedom"), 0,
                            positive(parts[2], "the scale"));
  throw wrong();
}

}  // namespace

/// Probit and cloglog are links of bernoulli.
Family family_of(const OptionValues& given) {
  const std::string name = given.text("family"), link = given.text("link");
  const Family family = glm::parse_family(name);
  if (link.empty()) return family;
  std::vector<std::string> links;
  switch (family) {
    case Family::gaussian:
    case Family::student_t:
      links = {"identity"};
      break;
    case Family::bernoulli:
      links = {"logit", "probit", "cloglog"};
      break;
    case Family::probit:
    case Family::cloglog:
      links = {name};
      break;
    case Family::binomial:
    case Family::categorical:
    case Family::ordinal:
      links = {"logit"};
      break;
    case Family::poisson:
    case Family::zero_inflated_poisson:
    case Family::negative_binomial:
    case Family::gamma:
      links = {"log"};
      break;
  }
  if (std::find(links.begin(), links.end(), link) == links.end())
    throw UsageError(fmt::format("`link` {} is not one of family {}: {} {}", link, name,
                                 links.size() > 1 ? "they are" : "it is", joined(links)));
  if (link == "probit") return Family::probit;
  if (link == "cloglog") return Family::cloglog;
  return family;
}

namespace {

/// "sigma and nu", or what else the family has.
std::string numbers_in_words(Family family) {
  std::string words;
  for (const NumberInfo& number : family_numbers(family, 3))
    words += (words.empty() ? "" : " and ") + number.name;
  return words.empty() ? "none" : words;
}

bool has_number(Family family, std::string_view name) {
  return std::ranges::any_of(family_numbers(family, 3), [&](const auto& one) { return one.name == name; });
}

/// The families that have a number of this name.
std::string families_with(std::string_view name) {
  std::string words;
  for (const std::string& family : family_names())
    if (has_number(parse_family(family), name)) words += (words.empty() ? "" : " and ") + family;
  return words;
}

/// Priors of numbers that the family has not, or that are known, would be dropped without a word.
void check_number_priors(const std::vector<PriorStatement>& statements, Family family,
                         const OptionValues& given) {
  for (const PriorStatement& one : statements) {
    if (one.about != PriorStatement::About::number) continue;
    if (!has_number(family, one.column))
      throw PriorError(
          one.text,
          fmt::format("the prior '{}' is of {}, which the {} family has not: of such numbers it has {}",
                      one.text, one.column, to_string(family), numbers_in_words(family)));
    if (one.column != "gap" && given.number(one.column))
      throw PriorError(one.text, fmt::format("the prior '{0}' is of {1}, which is known, since `{1}` is {2}: "
                                             "leave one of them out",
                                             one.text, one.column, *given.number(one.column)));
  }
}

/// Numbers of the family that are given, in place of being sampled.
void set_known(const OptionValues& given, Family family, PosteriorOptions& options) {
  for (const char* field : {"sigma", "nu", "phi", "shape", "zi"}) {
    const auto value = given.number(field);
    if (!value) continue;
    if (!has_number(family, field))
      throw UsageError(fmt::format("`{}` is for the {} family, not for {}", field, families_with(field),
                                   to_string(family)));
    for (const NumberInfo& number : family_numbers(family))
      if (number.name == field && !number.allows(*value))
        throw UsageError(
            fmt::format("`{}` is {}: it must be a finite number {}", field, *value, number.range()));
    (std::string_view(field) == "nu" ? options.known_degrees : options.known_scale) = value;
  }
}

}  // namespace

PosteriorOptions posterior_options(const OptionValues& given, Family family, bool intercept,
                                   std::vector<std::string> column_names) {
  PosteriorOptions options;
  options.column_names = std::move(column_names);
  const std::string words = given.text("prior");
  const std::vector<PriorStatement> statements = parse_priors(words);
  check_number_priors(statements, family, given);
  apply_priors(statements, intercept, options);
  if (given.has("prior_intercept") && !intercept)
    throw UsageError("`prior_intercept` is of the intercept, and there is none: leave it out");
  if (given.has("prior_intercept"))
    options.intercept = parse_prior("prior_intercept", given.text("prior_intercept"));
  if (given.has("prior_scale")) {
    if (family_numbers(family, 3).empty())
      throw UsageError(
          fmt::format("`prior_scale` is of sigma, phi, shape, zi or the gaps between thresholds, "
                      "and {} has none of them",
                      to_string(family)));
    for (const char* field : {"sigma", "phi", "shape", "zi"})
      if (has_number(family, field) && given.number(field))
        throw UsageError(
            fmt::format("`prior_scale` is of {0}, which is known, since `{0}` is {1}: leave one of them out",
                        field, *given.number(field)));
    options.scale = parse_prior("prior_scale", given.text("prior_scale"));
  }
  set_known(given, family, options);
  return options;
}

}  // namespace onward::glm
