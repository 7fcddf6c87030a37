#include "onward/glm/family.hpp"

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

struct Named {
  Family family;
  std::string_view name;
};
constexpr Named families[] = {
    {Family::gaussian, "gaussian"}, {Family::bernoulli, "bernoulli"},
    {Family::probit, "probit"},     {Family::cloglog, "cloglog"},
    {Family::binomial, "binomial"}, {Family::categorical, "categorical"},
    {Family::poisson, "poisson"},   {Family::negative_binomial, "negative-binomial"},
    {Family::gamma, "gamma"},       {Family::student_t, "student-t"},
    {Family::ordinal, "ordinal"},   {Family::zero_inflated_poisson, "zero-inflated-poisson"}};

}  // namespace

std::string_view to_string(Family family) {
  for (const auto& f : families)
    if (f.family == family) return f.name;
  return "unknown";
}

std::vector<NumberInfo> family_numbers(Family family, std::size_t categories) {
  using enum NumberInfo::Kind;
  switch (family) {
    case Family::gaussian:
      return {{"sigma"}};
    case Family::negative_binomial:
      return {{"phi"}};
    case Family::gamma:
      return {{"shape"}};
    case Family::student_t:
      return {{"sigma"}, {"nu", above_one}};
    case Family::zero_inflated_poisson:
      return {{"zi", odds}};
    case Family::ordinal:
      return std::vector<NumberInfo>(categories > 2 ? categories - 2 : 0, {"gap", gap});
    default:
      return {};
  }
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& f : families) names.emplace_back(f.name);
  return names;
}

Family parse_family(std::string_view name) {
  for (const auto& f : families)
    if (f.name == name) return f.family;
  static constexpr std::pair<std::string_view, std::string_view> elsewhere[] = {
      {"logistic", "bernoulli"},
      {"logit", "bernoulli"},
      {"binary", "bernoulli"},
      {"normal", "gaussian"},
      {"linear", "gaussian"},
      {"multinomial", "categorical"},
      {"softmax", "categorical"},
      {"multiclass", "categorical"},
      {"negbin", "negative-binomial"},
      {"nb", "negative-binomial"},
      {"negbinomial", "negative-binomial"},
      {"nbinom", "negative-binomial"},
      {"nbinom2", "negative-binomial"},
      {"counts", "poisson"},
      {"Gamma", "gamma"},
      {"student", "student-t"},
      {"student_t", "student-t"},
      {"robust", "student-t"},
      {"t", "student-t"},
      {"cumulative", "ordinal"},
      {"ordered", "ordinal"},
      {"polr", "ordinal"},
      {"clm", "ordinal"},
      {"zip", "zero-inflated-poisson"},
      {"zero_inflated_poisson", "zero-inflated-poisson"}};
  std::string hint = suggestion(std::string(name), family_names());
  for (const auto& [word, family] : elsewhere)
    if (word == name) hint = fmt::format(" It is called {} here.", family);
  throw UsageError(
      fmt::format("there is no family '{}'.{} Families: {}", name, hint, joined(family_names())));
}

}  // namespace onward::glm
