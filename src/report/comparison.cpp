// Two runs of one model side by side: whether they tell the same of each parameter, and what was set
// otherwise.

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "onward/record/earlier.hpp"
#include "parts.hpp"

namespace onward::report {

using nlohmann::ordered_json;

namespace {

ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

/// Fields of two objects that are not the same, with the objects within them.
void compare(const ordered_json& one, const ordered_json& other, const std::string& before,
             ordered_json& out) {
  const auto both_objects = one.is_object() && other.is_object();
  if (!both_objects) {
    if (nlohmann::json(one) == nlohmann::json(other)) return;
    const auto word = [](const ordered_json& value) {
      return value.is_null() ? std::string("not set") : word_of(value);
    };
    out.push_back({{"field", before}, {"one", word(one)}, {"other", word(other)}});
    return;
  }
  std::vector<std::string> fields;
  for (const auto& [field, value] : one.items()) fields.push_back(field);
  for (const auto& [field, value] : other.items())
    if (!one.contains(field)) fields.push_back(field);
  for (const auto& field : fields)
    compare(one.value(field, ordered_json()), other.value(field, ordered_json()),
            before.empty() ? field : before + "." + field, out);
}

}  // namespace

ordered_json differences(const ordered_json& one, const ordered_json& other) {
  auto list = ordered_json::array();
  compare(one, other, "", list);
  return list;
}

ordered_json comparison_json(const Input& one, const std::vector<ParameterSummary>& rows_of_one,
                             const Input& other, const std::vector<ParameterSummary>& rows_of_other) {
  std::map<std::string, const ParameterSummary*> there;
  for (const auto& row : rows_of_other) there[row.name] = &row;
  auto rows = ordered_json::array();
  std::size_t apart = 0;
  for (const auto& a : rows_of_one) {
    const auto found = there.find(a.name);
    if (found == there.end()) continue;
    const ParameterSummary& b = *found->second;
    // In Monte Carlo errors, which tell chance from a difference, and in sds, which tell whether it matters.
    const double difference = b.mean - a.mean, error = std::hypot(a.mcse_mean, b.mcse_mean);
    const double z = difference / error;
    // Of hundreds of parameters some are beyond 3 by chance; 4 is 1 in 16,000.
    const bool beyond = std::abs(z) > 4;
    apart += beyond ? 1 : 0;
    rows.push_back({{"name", a.name},
                    {"one", number(a.mean)},
                    {"other", number(b.mean)},
                    {"z", number(z)},
                    {"shift", number(difference / a.sd)},
                    {"sd_ratio", number(b.sd / a.sd)},
                    {"ess_ratio", number(b.ess_bulk / a.ess_bulk)},
                    {"apart", beyond}});
  }
  // A run in memory, or of files alone, may have none of these.
  const auto part = [](const Input& input, const char* field) {
    return input.run.is_object() ? input.run.value(field, ordered_json::object()) : ordered_json::object();
  };
  ordered_json settings = differences(part(one, "settings"), part(other, "settings"));
  for (auto& entry : differences(part(one, "model"), part(other, "model"))) settings.push_back(entry);
  const std::string words =
      apart == 0
          ? "The two runs agree: no mean differs by more than four Monte Carlo standard errors."
          : fmt::format(
                "The means of {} of {} parameters differ by more than four Monte Carlo standard errors: "
                "at least one of the runs has not found the posterior, or they are not of one model.",
                apart, rows.size());
  return {
      {"words", words}, {"agree", apart == 0}, {"rows", std::move(rows)}, {"settings", std::move(settings)}};
}

}  // namespace onward::report
