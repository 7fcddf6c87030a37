#include "onward/diagnostics/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string_view>

#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"

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

/// Where the character of this number begins.
std::size_t place_of(const std::string& text, std::size_t character) {
  std::size_t i = 0;
  while (i < text.size() && (character > 0 || !begins_character(text[i])))
    if (begins_character(text[i++])) --character;
  return i;
}

/// Beginning and end of a name, in so many characters.
std::string cut(const std::string& name, std::size_t width) {
  const std::size_t length = columns_in(name);
  if (length <= width || width < 5) return name;
  const std::size_t tail = (width - 2) / 2;
  return name.substr(0, place_of(name, width - 2 - tail)) + ".." + name.substr(place_of(name, length - tail));
}

std::size_t widest(const std::vector<std::string>& texts) {
  std::size_t width = 0;
  for (const auto& text : texts) width = std::max(width, columns_in(text));
  return width;
}

/// Names of about this width, which is exceeded only if different names would look alike.
std::vector<std::string> shortened(const std::vector<std::string>& names, std::size_t width) {
  const auto different = [](const std::vector<std::string>& texts) {
    return std::set<std::string_view>(texts.begin(), texts.end()).size();
  };
  const std::size_t longest = widest(names), wanted = different(names);
  std::vector<std::string> result;
  for (; width < longest; ++width) {
    result.clear();
    for (const auto& name : names) result.push_back(cut(name, width));
    if (different(result) == wanted) return result;
  }
  return names;
}

enum Column { name, mean, sd, q5, q50, q95, mcse, ess_bulk, ess_tail, r_hat, columns };

/// The table by columns, each with its heading.
using Cells = std::array<std::vector<std::string>, columns>;

Cells cells_of(std::span<const ParameterSummary> summaries) {
  Cells table{
      {{"name"}, {"mean"}, {"sd"}, {"5%"}, {"50%"}, {"95%"}, {"mcse"}, {"ess_bulk"}, {"ess_tail"}, {"rhat"}}};
  for (const auto& s : summaries) {
    const int decimals = decimals_of(s);
    table[name].push_back(printable(s.name));
    table[mean].push_back(number(s.mean, decimals));
    table[sd].push_back(number(s.sd, decimals));
    table[q5].push_back(number(s.q5, decimals));
    table[q50].push_back(number(s.q50, decimals));
    table[q95].push_back(number(s.q95, decimals));
    table[mcse].push_back(two_digits(s.mcse_mean));
    table[ess_bulk].push_back(number(s.ess_bulk, 0));
    table[ess_tail].push_back(number(s.ess_tail, 0));
    table[r_hat].push_back(number(s.rhat, s.rhat < 100 ? 3 : 0));
  }
  return table;
}

constexpr std::size_t gap = 2;  // between columns

/// Makes the table fit a width and says which columns that has cost. What a reader misses least goes first.
std::vector<std::string> fit(Cells& table, std::size_t width) {
  std::vector<std::string> left_out;
  const auto too_wide = [&] {
    std::size_t total = 0;
    for (const auto& column : table) total += column.empty() ? 0 : widest(column) + gap;
    return total - gap > width ? total - gap - width : 0;
  };
  const auto leave_out = [&](Column column) {
    if (too_wide() == 0) return;
    left_out.push_back(table[column].front());
    table[column].clear();
  };
  const auto shorten_names = [&](std::size_t least) {
    const std::size_t now = widest(table[name]), excess = too_wide();
    if (excess > 0 && now > least)
      table[name] = shortened(table[name], std::max(least, now - std::min(now, excess)));
  };
  const std::vector<std::string> names = table[name];
  leave_out(mcse);
  leave_out(q50);
  shorten_names(16);
  if (too_wide() > 0) table[name] = names;  // with a column less they may be longer
  leave_out(ess_tail);
  shorten_names(8);
  return left_out;
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
  Cells table = cells_of(std::span(summaries).first(shown));
  table[name] = shortened(table[name], options.max_name_width);
  std::vector<std::string> left_out;
  if (options.width > 0) left_out = fit(table, options.width);

  std::array<std::size_t, columns> widths{};
  for (std::size_t c = 0; c < columns; ++c) widths[c] = widest(table[c]);
  std::string text;
  for (std::size_t row = 0; row <= shown; ++row) {
    text += table[name][row] + std::string(widths[name] - columns_in(table[name][row]), ' ');
    for (std::size_t c = mean; c < columns; ++c)
      if (!table[c].empty()) text += fmt::format("{:{}}{:>{}}", "", gap, table[c][row], widths[c]);
    text += '\n';
  }
  if (shown < summaries.size()) text += fmt::format("... and {} more\n", summaries.size() - shown);
  if (!left_out.empty())
    text += fmt::format("(left out to fit {} columns: {})\n", options.width, joined(left_out));
  return text;
}

std::vector<std::string> warnings(const std::vector<ParameterSummary>& summaries, std::size_t chains,
                                  std::size_t draws_per_chain, bool dense_metric_may_help,
                                  const SettingWords& words) {
  std::vector<std::string> lines;
  if (summaries.empty()) return lines;
  if (draws_per_chain < 4) {
    lines.push_back(
        fmt::format("ESS and R-hat need at least 4 draws a chain and there {} {}: ask for more {}.",
                    draws_per_chain == 1 ? "is" : "are", draws_per_chain, words.draws));
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
                    "case try a smaller {} or a longer {}.",
                    constant.worst->name, others(constant), words.step_size, words.warmup));

  if (chains < 2)
    lines.push_back(
        fmt::format("R-hat compares chains and there is only one: run 2 or more ({}).", words.four_chains));

  const Finding apart = find(
      summaries, [](const auto& s) { return s.rhat > rhat_limit; },
      [](const auto& a, const auto& b) { return a.rhat > b.rhat; });
  if (apart.worst)
    lines.push_back(fmt::format(
        "R-hat of {}{} is {}, above {}: the chains have not mixed, do not use these draws yet. Try a longer "
        "{} and more {}, then {}another {}.",
        apart.worst->name, others(apart), number(apart.worst->rhat, apart.worst->rhat < 100 ? 3 : 0),
        rhat_limit, words.warmup, words.draws, dense_metric_may_help ? words.dense_metric + " or " : "",
        words.sampler));

  const double limit = ess_limit_per_chain * static_cast<double>(chains);
  const auto least = [](const ParameterSummary& s) { return std::min(s.ess_bulk, s.ess_tail); };
  const Finding few = find(
      summaries, [&](const auto& s) { return s.sd != 0 && least(s) < limit; },
      [&](const auto& a, const auto& b) { return least(a) < least(b); });
  if (few.worst) {
    // Rounded as in the table, but never up to the limit that it is below.
    const double ess = least(*few.worst);
    const std::string size = number(ess, std::round(ess) < limit ? 0 : 2);
    const bool tail = few.worst->ess_tail < few.worst->ess_bulk;
    lines.push_back(
        fmt::format("{} ESS of {}{} is {}, below {:.0f} a chain ({:.0f} in all): its {} too uncertain. "
                    "Try more {}{} a larger {} to keep files small{}.",
                    tail ? "Tail" : "Bulk", few.worst->name, others(few), size, ess_limit_per_chain, limit,
                    tail ? "quantiles are" : "mean is", words.draws, dense_metric_may_help ? "," : ", or",
                    words.thin, dense_metric_may_help ? ", or " + words.dense_metric : ""));
  }
  return lines;
}

}  // namespace onward
