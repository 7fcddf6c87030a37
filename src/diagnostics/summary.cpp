#include "onward/diagnostics/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "onward/util/printable.hpp"

namespace onward {
namespace {

constexpr int max_decimals = 6;

/// The decimal place of a positive number's first digit, as a count of decimals: 0.03 has 2, 4000 has -3.
int leading_place(double x) { return -static_cast<int>(std::floor(std::log10(x))); }

bool positive(double x) { return std::isfinite(x) && x > 0; }

std::string without_minus_zero(std::string text) {
  if (text.starts_with('-') && text.find_first_of("123456789") == std::string::npos) text.erase(0, 1);
  return text;
}

/// A number with so many decimals, or in scientific notation where that would be long or would show nothing.
std::string number(double x, int decimals) {
  if (std::isnan(x)) return "nan";  // without its sign, which means nothing
  if (!std::isfinite(x)) return fmt::format("{}", x);
  if (decimals > max_decimals || std::abs(x) >= 1e7) return without_minus_zero(fmt::format("{:.3e}", x));
  return without_minus_zero(fmt::format("{:.{}f}", x, std::max(decimals, 0)));
}

/// Up to the digit that the Monte Carlo error leaves in doubt, but never less than two digits of the sd.
int decimals_of(const ParameterSummary& s) {
  const double spread = positive(s.sd) ? s.sd : std::abs(s.mean);
  if (!positive(spread)) return 1;
  const int of_sd = leading_place(spread) + 1;
  return positive(s.mcse_mean) ? std::max(of_sd, leading_place(s.mcse_mean)) : of_sd + 2;
}

std::string two_digits(double x) { return number(x, positive(x) ? leading_place(x) + 1 : 0); }

std::string cut(const std::string& name, std::size_t width) {
  if (name.size() <= width || width < 5) return name;
  const std::size_t tail = (width - 2) / 2;
  return name.substr(0, width - 2 - tail) + ".." + name.substr(name.size() - tail);
}

constexpr std::size_t columns = 10;
using Row = std::array<std::string, columns>;

Row row_of(const ParameterSummary& s, std::size_t name_width) {
  const int decimals = decimals_of(s);
  const auto count = [](double ess) { return number(std::floor(ess), 0); };
  return {cut(printable(s.name), name_width),
          number(s.mean, decimals),
          number(s.sd, decimals),
          number(s.q5, decimals),
          number(s.q50, decimals),
          number(s.q95, decimals),
          two_digits(s.mcse_mean),
          count(s.ess_bulk),
          count(s.ess_tail),
          number(s.rhat, s.rhat < 100 ? 3 : 0)};
}

/// The worst parameter of those a test finds bad, and how many there are.
struct Finding {
  const ParameterSummary* worst = nullptr;
  std::size_t count = 0;
};

template <class Bad, class Worse>
Finding find(const std::vector<ParameterSummary>& summaries, Bad bad, Worse worse) {
  Finding finding;
  for (const auto& s : summaries) {
    if (!bad(s)) continue;
    ++finding.count;
    if (!finding.worst || worse(s, *finding.worst)) finding.worst = &s;
  }
  return finding;
}

/// "" for one parameter, else " (and of 3 others)".
std::string others(const Finding& finding) {
  if (finding.count <= 1) return "";
  return fmt::format(" (and of {} other{})", finding.count - 1, finding.count == 2 ? "" : "s");
}

}  // namespace

std::string summary_table(const std::vector<ParameterSummary>& summaries, const TableOptions& options) {
  const std::size_t shown =
      options.max_rows == 0 ? summaries.size() : std::min(options.max_rows, summaries.size());
  std::vector<Row> rows{{"name", "mean", "sd", "5%", "50%", "95%", "mcse", "ess_bulk", "ess_tail", "rhat"}};
  for (std::size_t i = 0; i < shown; ++i) rows.push_back(row_of(summaries[i], options.max_name_width));

  std::array<std::size_t, columns> widths{};
  for (const Row& row : rows)
    for (std::size_t c = 0; c < columns; ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string table;
  for (const Row& row : rows) {
    table += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t c = 1; c < columns; ++c) table += fmt::format("  {:>{}}", row[c], widths[c]);
    table += '\n';
  }
  if (shown < summaries.size()) table += fmt::format("... and {} more\n", summaries.size() - shown);
  return table;
}

std::vector<std::string> warnings(const std::vector<ParameterSummary>& summaries, std::size_t chains,
                                  std::size_t draws_per_chain, bool dense_metric_may_help) {
  std::vector<std::string> lines;
  if (summaries.empty()) return lines;
  if (draws_per_chain < 4) {
    lines.push_back(
        fmt::format("ESS and R-hat need at least 4 draws a chain and there {} {}: ask for more with --draws.",
                    draws_per_chain == 1 ? "is" : "are", draws_per_chain));
    return lines;
  }
  const auto first = [](const auto&, const auto&) { return false; };

  const Finding bad_draws = find(
      summaries, [](const auto& s) { return std::isnan(s.mean); }, first);
  if (bad_draws.worst)
    lines.push_back(
        fmt::format("Draws of {}{} are not all finite, so nothing can be said of them: check the model's "
                    "transforms and data.",
                    bad_draws.worst->name, others(bad_draws)));

  const Finding constant = find(
      summaries, [](const auto& s) { return s.sd == 0; }, first);
  if (constant.worst)
    lines.push_back(
        fmt::format("All draws of {}{} are equal: either the model fixes it or no step was accepted; in that "
                    "case try a smaller --step-size or a longer --warmup.",
                    constant.worst->name, others(constant)));

  if (chains < 2) lines.push_back("R-hat compares chains and there is only one: run 2 or more (--chains 4).");

  const Finding apart = find(
      summaries, [](const auto& s) { return s.rhat > rhat_limit; },
      [](const auto& a, const auto& b) { return a.rhat > b.rhat; });
  if (apart.worst)
    lines.push_back(fmt::format(
        "R-hat of {}{} is {}, above {}: the chains have not mixed, do not use these draws yet. Try a longer "
        "--warmup and more --draws, then {}another --sampler.",
        apart.worst->name, others(apart), number(apart.worst->rhat, apart.worst->rhat < 100 ? 3 : 0),
        rhat_limit, dense_metric_may_help ? "--metric dense or " : ""));

  const double limit = ess_limit_per_chain * static_cast<double>(chains);
  const auto least = [](const ParameterSummary& s) { return std::min(s.ess_bulk, s.ess_tail); };
  const Finding few = find(
      summaries, [&](const auto& s) { return s.sd != 0 && least(s) < limit; },
      [&](const auto& a, const auto& b) { return least(a) < least(b); });
  if (few.worst) {
    const bool tail = few.worst->ess_tail < few.worst->ess_bulk;
    lines.push_back(fmt::format(
        "{} ESS of {}{} is {:.0f}, below {:.0f} a chain ({:.0f} in all): its {} too uncertain. "
        "Try more --draws{} a larger --thin to keep files small{}.",
        tail ? "Tail" : "Bulk", few.worst->name, others(few), std::floor(least(*few.worst)),
        ess_limit_per_chain, limit, tail ? "quantiles are" : "mean is", dense_metric_may_help ? "," : ", or",
        dense_metric_may_help ? ", or --metric dense" : ""));
  }
  return lines;
}

}  // namespace onward
