#include "funnel_report.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "onward/plot/figure.hpp"
#include "words.hpp"

namespace onward::experiments {
namespace {

std::string with_sd(const MeanSd& x, int digits) {
  return std::isnan(x.sd) ? fmt::format("{:.{}f}", x.mean, digits)
                          : fmt::format("{:.{}f}±{:.{}f}", x.mean, digits, x.sd, digits);
}

std::string optional_number(const std::optional<double>& x) { return x ? fmt::format("{:.2g}", *x) : "-"; }

/// Whether the chains are as long and as many as the paper's.
bool comparable(const FunnelSettings& s) {
  const FunnelSettings paper;
  return s.steps == paper.steps && s.chains == paper.chains && !s.reverse_kl;
}

constexpr std::size_t sampler_column = 1;

bool disagrees(const FunnelRow& row) { return row.published_p && *row.published_p < disagreement; }

/// The paper's table; with its published figures if ours can be compared with them. Without them it fits 80
/// columns: fewer digits, shorter headings, and nothing of speed.
Words paper_words(const FunnelTable& table) {
  const bool compared = comparable(table.settings);
  Words words{{}, {}, sampler_column};
  // Every column is a heading and what it says of a row.
  const auto add = [&](const std::string& heading, const auto& entry) {
    words.headings.push_back(heading);
    words.lines.resize(table.rows.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) words.lines[i].push_back(entry(table.rows[i]));
  };
  const auto add_published = [&](const std::string& heading, const auto& entry) {
    if (compared)
      add("published " + heading,
          [&](const FunnelRow& row) { return row.published ? entry(row) : std::string("-"); });
  };
  const auto best = [](const FunnelRow& row) -> const FunnelCell& { return row.cells[row.best]; };
  add("D", [](const FunnelRow& row) { return std::to_string(row.dim); });
  add("sampler", [](const FunnelRow& row) { return row.sampler; });
  add("KL", [&](const FunnelRow& row) {
    const MeanSd kl = best(row).kl_over_seeds;
    return with_sd(kl, compared || kl.mean < 10 ? 3 : 1);
  });
  add_published("KL", [](const FunnelRow& row) {
    return with_sd(row.published->kl, 3) + (disagrees(row) ? " *" : "");
  });
  const int digits = compared ? 1 : 0;
  add("ESS w", [&](const FunnelRow& row) { return with_sd(row.ess_w, digits); });
  add_published("ESS w", [](const FunnelRow& row) { return with_sd(row.published->ess_w, 1); });
  add("ESS x", [&](const FunnelRow& row) { return with_sd(row.ess_x, digits); });
  add_published("ESS x", [](const FunnelRow& row) { return with_sd(row.published->ess_x, 1); });
  add(compared ? "step size" : "step",
      [&](const FunnelRow& row) { return fmt::format("{:.3g}", best(row).step_size); });
  add(compared ? "acceptance" : "acc.",
      [&](const FunnelRow& row) { return fmt::format("{:.2f}", best(row).acceptance); });
  add(compared ? "p vs mala" : "p", [](const FunnelRow& row) { return optional_number(row.p_value); });
  add_published("p", [](const FunnelRow& row) { return optional_number(row.published->p_value); });
  if (!compared) return words;
  add("steps/s", [](const FunnelRow& row) { return fmt::format("{:.1f}M", row.steps_per_second / 1e6); });
  add("random", [](const FunnelRow& row) { return fmt::format("{:.0f}%", 100 * row.random_share); });
  return words;
}

/// A table at an equal price: what differs is the number of steps.
Words equal_words(const FunnelAtEqual& table) {
  Words words{{"D", "sampler", "steps", "evaluations", "KL", "ESS w", "ESS x", "step size", "acceptance",
               "p vs mala"},
              {},
              sampler_column};
  for (const auto& row : table.rows) {
    const FunnelCell& best = row.cells[row.best];
    words.lines.push_back({std::to_string(row.dim), row.sampler, std::to_string(row.steps),
                           std::to_string(row.evaluations), with_sd(best.kl_over_seeds, 3),
                           with_sd(row.ess_w, 1), with_sd(row.ess_x, 1),
                           fmt::format("{:.3g}", best.step_size), fmt::format("{:.2f}", best.acceptance),
                           optional_number(row.p_value)});
  }
  return words;
}

std::string title(const FunnelTable& table, Budget budget) {
  if (budget == Budget::evaluations)
    return fmt::format("At equal evaluations: {} values, jets or gradients a chain.",
                       2 * table.settings.steps);
  return fmt::format(
      "At equal time: as long as {} takes for {} steps, from each sampler's speed measured here.",
      table.settings.samplers.back(), table.settings.steps);
}

std::string notes(const FunnelTable& table) {
  const auto& s = table.settings;
  std::string text = fmt::format(
      "KL({}) of w; {} seed{} of {} chains x {} steps, ± their standard deviation;\nbest of {} step sizes by "
      "mean KL.\n",
      s.reverse_kl ? "q||p" : "p||q", s.seeds, s.seeds == 1 ? "" : "s", s.chains, s.steps, s.step_sizes);
  text += comparable(s)
              ? "steps/s: of one core, the whole grid together; random: share of the time spent on random "
                "numbers.\n"
              : "acc.: acceptance; p: of a Welch test of the KL against mala's.\nThe published figures are "
                "of 5 chains x 10000 steps and KL(p||q): with those\nthey stand beside ours.\n";
  if (table.settings.seeds < 2) text += "One seed: there is no standard deviation and no p-value.\n";
  bool any = false;
  for (const auto& row : table.rows) any = any || disagrees(row);
  if (any)
    text +=
        fmt::format("* ours and the published KL differ by more than chance (Welch p < {}).\n", disagreement);
  return text;
}

/// All tables, each with `form` and its title above it.
std::string all_tables(const FunnelTable& table, std::string (*form)(const Words&)) {
  std::string text = form(paper_words(table)) + "\n" + notes(table);
  if (table.equal.empty()) text += "--equal evaluations,time adds the same table at an equal price.\n";
  for (const auto& equal : table.equal)
    text += fmt::format("\n{}\n\n{}", title(table, equal.budget), form(equal_words(equal)));
  return text;
}

/// Calls `visit` with the name of the budget and each row, the paper's first.
template <class Visit>
void for_each_row(const FunnelTable& table, const Visit& visit) {
  for (const auto& row : table.rows) visit(to_string(Budget::steps), row);
  for (const auto& equal : table.equal)
    for (const auto& row : equal.rows) visit(to_string(equal.budget), row);
}

nlohmann::ordered_json row_json(const FunnelRow& row) {
  using nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& x) {
    return x ? ordered_json(*x) : ordered_json(nullptr);
  };
  const FunnelCell& best = row.cells[row.best];
  auto curve = ordered_json::array();
  for (const auto& cell : row.cells)
    curve.push_back({{"step_size", cell.step_size},
                     {"kl_mean", cell.kl_over_seeds.mean},
                     {"kl_sd", cell.kl_over_seeds.sd},
                     {"acceptance", cell.acceptance}});
  ordered_json published(nullptr);
  if (row.published)
    published = {{"kl_mean", row.published->kl.mean},
                 {"kl_sd", row.published->kl.sd},
                 {"ess_w_mean", row.published->ess_w.mean},
                 {"ess_w_sd", row.published->ess_w.sd},
                 {"ess_x_mean", row.published->ess_x.mean},
                 {"ess_x_sd", row.published->ess_x.sd},
                 {"p_value_vs_mala", or_null(row.published->p_value)}};
  return {{"dim", row.dim},
          {"sampler", row.sampler},
          {"steps", row.steps},
          {"kl_mean", best.kl_over_seeds.mean},
          {"kl_sd", best.kl_over_seeds.sd},
          {"kl", best.kl},
          {"ess_w_mean", row.ess_w.mean},
          {"ess_w_sd", row.ess_w.sd},
          {"ess_x_mean", row.ess_x.mean},
          {"ess_x_sd", row.ess_x.sd},
          {"step_size", best.step_size},
          {"acceptance", best.acceptance},
          {"p_value_vs_mala", or_null(row.p_value)},
          {"steps_per_second", row.steps_per_second},
          {"random_share", row.random_share},
          {"evaluations_per_chain", row.evaluations},
          {"p_value_vs_published", or_null(row.published_p)},
          {"disagrees", disagrees(row)},
          {"published", published},
          {"curve", curve}};
}

}  // namespace

std::string funnel_text(const FunnelTable& table) { return all_tables(table, aligned); }
std::string funnel_markdown(const FunnelTable& table) { return all_tables(table, markdown); }

std::string funnel_csv(const FunnelTable& table) {
  std::string text =
      "equal,dim,sampler,steps,kl_mean,kl_sd,ess_w_mean,ess_w_sd,ess_x_mean,ess_x_sd,step_size,acceptance,"
      "p_value_vs_mala,steps_per_second,random_share,evaluations_per_chain,published_kl_mean,published_kl_sd,"
      "p_value_vs_published\n";
  const auto number = [](const std::optional<double>& x) {
    return x && !std::isnan(*x) ? fmt::format("{}", *x) : std::string();
  };
  for_each_row(table, [&](std::string_view budget, const FunnelRow& row) {
    const FunnelCell& best = row.cells[row.best];
    std::optional<double> published_mean, published_sd;
    if (row.published) {
      published_mean = row.published->kl.mean;
      published_sd = row.published->kl.sd;
    }
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", budget, row.dim,
                        row.sampler, row.steps, best.kl_over_seeds.mean, number(best.kl_over_seeds.sd),
                        row.ess_w.mean, number(row.ess_w.sd), row.ess_x.mean, number(row.ess_x.sd),
                        best.step_size, best.acceptance, number(row.p_value), row.steps_per_second,
                        row.random_share, row.evaluations, number(published_mean), number(published_sd),
                        number(row.published_p));
  });
  return text;
}

nlohmann::ordered_json funnel_json(const FunnelTable& table) {
  using nlohmann::ordered_json;
  const auto& s = table.settings;
  auto rows = ordered_json::array();
  for (const auto& row : table.rows) rows.push_back(row_json(row));
  auto equal = ordered_json::object();
  for (const auto& at : table.equal)
    for (const auto& row : at.rows) equal[std::string(to_string(at.budget))].push_back(row_json(row));
  return {{"table", rows},
          {"equal", equal},
          {"settings",
           {{"dims", s.dims},
            {"samplers", s.samplers},
            {"step_sizes", s.step_sizes},
            {"min_step_size", s.min_step_size ? ordered_json(*s.min_step_size) : ordered_json(nullptr)},
            {"max_step_size", s.max_step_size},
            {"seeds", s.seeds},
            {"chains", s.chains},
            {"steps", s.steps},
            {"kl", s.reverse_kl ? "reverse" : "forward"},
            {"seed", s.seed}}},
          {"seconds", table.seconds}};
}

void funnel_figures(const FunnelTable& table, const std::string& folder) {
  const auto& s = table.settings;
  plot::Figure figure(2, s.dims.size(), 6.5 * static_cast<double>(s.dims.size()), 12);
  std::vector<plot::KeyEntry> key;
  for (std::size_t i = 0; i < s.samplers.size(); ++i)
    key.push_back({s.samplers[i], plot::palette(i), plot::dash_pattern(i)});
  figure.key(key);
  for (std::size_t column = 0; column < s.dims.size(); ++column) {
    auto& kl = figure.panel(0, column);
    auto& acceptance = figure.panel(1, column);
    kl.title(fmt::format("D = {}", s.dims[column])).x_scale(plot::Scale::log).y_scale(plot::Scale::log);
    acceptance.x_scale(plot::Scale::log).x_label("step size").y_range(0, 1.02);
    if (column == 0) {
      kl.y_label("KL");
      acceptance.y_label("acceptance");
    }
    double highest = 0, lowest = 1e300;
    for (const auto& row : table.rows)
      for (const auto& cell : row.cells) {
        if (row.dim != s.dims[column] || !std::isfinite(cell.kl_over_seeds.mean)) continue;
        highest = std::max(highest, cell.kl_over_seeds.mean);
        lowest = std::min(lowest, cell.kl_over_seeds.mean);
      }
    // Chains that never left their start have KLs of millions; the figure is about the others. Their lines
    // leave it at the top, and their bands, which would fill it from side to side, are left out.
    const double top = std::min(highest * 2, lowest * 1e3);
    if (highest > lowest) kl.y_range(lowest / 2, top);
    for (const auto& row : table.rows) {
      if (row.dim != s.dims[column]) continue;
      const auto sampler = static_cast<std::size_t>(
          std::find(s.samplers.begin(), s.samplers.end(), row.sampler) - s.samplers.begin());
      std::vector<double> x, mean, low, high, accepted;
      for (const auto& cell : row.cells) {
        const MeanSd k = cell.kl_over_seeds;
        x.push_back(cell.step_size);
        mean.push_back(k.mean);
        const double sd = std::isnan(k.sd) ? 0 : k.sd;
        const bool shown = k.mean <= top;
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        low.push_back(shown ? std::max(k.mean - sd, k.mean / 10) : nan);
        high.push_back(shown ? k.mean + sd : nan);
        accepted.push_back(cell.acceptance);
      }
      plot::Color shade = plot::palette(sampler);
      shade.alpha = 0.15;
      kl.band(x, low, high, {.color = shade});
      kl.line(x, mean, {.color = plot::palette(sampler), .size = 1.2, .dash = plot::dash_pattern(sampler)});
      acceptance.line(x, accepted,
                      {.color = plot::palette(sampler), .size = 1.2, .dash = plot::dash_pattern(sampler)});
    }
  }
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/sensitivity.{}", folder, ending));
}

}  // namespace onward::experiments
