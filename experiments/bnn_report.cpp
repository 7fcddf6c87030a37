#include "bnn_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bnn_problem.hpp"
#include "onward/plot/figure.hpp"
#include "words.hpp"

namespace onward::experiments {
namespace {

/// The published figures stand beside rows of their temperature alone.
std::optional<PublishedBnnRow> published(const BnnRow& row) {
  return row.temperature == 400 ? published_bnn(row.sampler) : std::nullopt;
}

bool less_nll(const BnnScores& a, const BnnScores& b) { return a.nll < b.nll; }

double range_of(const std::vector<BnnScores>& chains) {
  const auto [low, high] = std::minmax_element(chains.begin(), chains.end(), less_nll);
  return high->nll - low->nll;
}

BnnScores best(const std::vector<BnnScores>& chains) {
  return *std::min_element(chains.begin(), chains.end(), less_nll);
}

Words words_of(const BnnTable& table) {
  Words words{{"sampler", "temperature", "NLL (published)", "MSE", "RMSE", "ms/step", "memory MB",
               "NLL all kept", "NLL half-way", "log density", "rms weight", "directions", "step size",
               "acceptance", "steps", "minutes"},
              {}};
  const bool several = table.settings.chains > 1;
  if (several) words.headings.insert(words.headings.begin() + 3, {"best chain (MSE)", "chains' range"});
  for (const auto& row : table.rows) {
    const auto paper = published(row);
    const auto of = [&](double PublishedBnnRow::*field) {
      return paper ? std::optional((*paper).*field) : std::nullopt;
    };
    std::vector<std::string> line{
        row.sampler,
        fmt::format("{}", row.temperature),
        both(row.last.nll, of(&PublishedBnnRow::nll), 3),
        both(row.last.mse, of(&PublishedBnnRow::mse), 4),
        fmt::format("{:.3f}", std::sqrt(row.last.mse)),
        both(row.ms_per_step, of(&PublishedBnnRow::ms_per_step), 2),
        fmt::format("{:.1f}", (row.peak_bytes - row.bytes_before) / 1e6),
        fmt::format("{:.3f}", row.all.nll),
        fmt::format("{:.3f}", row.nll_middle),
        fmt::format("{:.1f}", row.log_density),
        fmt::format("{:.3f}", row.weight_rms),
        row.directions,
        row.step_size ? fmt::format("{:.3g}{}", *row.step_size, row.tuned ? " (tuned)" : "") : "-",
        fmt::format("{:.2f}", row.acceptance),
        row.chains > 1 ? fmt::format("{} x {}", row.chains, row.steps) : std::to_string(row.steps),
        fmt::format("{:.1f}", row.seconds / 60)};
    if (several) {
      const BnnScores least = best(row.last_of_chains);
      line.insert(line.begin() + 3, {fmt::format("{:.3f} ({:.4f})", least.nll, least.mse),
                                     fmt::format("{:.3f}", range_of(row.last_of_chains))});
    }
    words.lines.push_back(std::move(line));
  }
  return words;
}

std::string title(const BnnTable& table) {
  const auto& s = table.settings;
  const BnnRow first = table.rows.empty() ? BnnRow{} : table.rows[0];
  return fmt::format(
      "Table 3: regression by a network, D = {}, {} points{}; {} steps, {} burned, every {}th kept; prior sd "
      "{}, "
      "sigma {}",
      first.dimension, first.points, s.data.empty() ? " (made, not the paper's: --data gives those)" : "",
      s.steps, s.burn, s.thin, s.prior_sd, s.sigma);
}

std::string footnotes(const BnnTable& table) {
  std::string text =
      "In brackets: published. NLL = -mean over points of the log of the mean over draws of N(y; f(x), "
      "sigma^2), "
      "from the last 100 kept draws; MSE of the\n"
      "mean over the same draws. Half-way: the NLL of the 100 kept draws before half of the kept ones were "
      "made; "
      "where it differs, the chain is still on its way.\n"
      "Memory: peak of the sampler's process, less what it held before there was data or network. rms "
      "weight: of "
      "the last draw; the prior's at temperature T\n"
      "is the prior sd times the root of T. Directions: units are lines within what one unit takes in, "
      "sphere "
      "and frames lines in all parameters, of which sphere is the paper's.\n";
  if (table.settings.chains > 1)
    text +=
        "NLL and the like are means over chains; their range is that of the NLL, and the best chain is the "
        "one "
        "with the least.\n";
  return text;
}

/// A scale that shows what matters: from below the best to a little above the middle of the curves.
std::pair<double, double> nll_range(const BnnTable& table, double temperature) {
  std::vector<double> ends;
  for (const auto& row : table.rows)
    if (row.temperature == temperature && !row.curve.empty()) ends.push_back(row.curve.back().nll);
  std::sort(ends.begin(), ends.end());
  if (ends.empty()) return {-1, 10};
  const double best = ends.front(), middle = ends[ends.size() / 2];
  return {std::min(best, 0.0) - 0.5, std::max(middle, best) + 10};
}

void nll_figure(const BnnTable& table, const std::string& folder) {
  const auto& temperatures = table.settings.temperatures;
  plot::Figure figure(1, temperatures.size(), 11 * static_cast<double>(temperatures.size()), 10);
  std::vector<plot::KeyEntry> key;
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    auto& panel = figure.panel(0, t);
    const auto [low, high] = nll_range(table, temperatures[t]);
    panel.title(fmt::format("temperature {}", temperatures[t])).x_label("steps").y_label("NLL");
    panel.y_range(low, high);
    for (const auto& row : table.rows) {
      if (row.temperature != temperatures[t]) continue;
      const auto& names = table.settings.samplers;
      const auto i =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), row.sampler) - names.begin());
      std::vector<double> steps, draws, last;
      for (const auto& point : row.curve) {
        steps.push_back(point.step);
        draws.push_back(point.nll_draw);
        last.push_back(point.nll);
      }
      plot::Color faint = plot::palette(i);
      faint.alpha = 0.3;
      panel.line(steps, draws, {.color = faint, .size = 0.6});
      panel.line(steps, last, {.color = plot::palette(i), .size = 1.3, .dash = plot::dash_pattern(i)});
      if (t == 0) key.push_back({row.sampler, plot::palette(i), plot::dash_pattern(i)});
    }
  }
  figure.key(key);
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/nll.{}", folder, ending));
}

void predictions_figure(const BnnTable& table, const std::string& folder) {
  const auto& s = table.settings;
  const StandardPoints points = standard_points(s);
  const std::size_t rows = s.temperatures.size(), columns = s.samplers.size();
  plot::Figure figure(rows, columns, std::max(16.0, 7 * static_cast<double>(columns)),
                      7 * static_cast<double>(rows));
  for (const auto& row : table.rows) {
    const auto place = [](const auto& list, const auto& value) {
      return static_cast<std::size_t>(std::find(list.begin(), list.end(), value) - list.begin());
    };
    auto& panel = figure.panel(place(s.temperatures, row.temperature), place(s.samplers, row.sampler));
    panel.title(fmt::format("{}, temperature {}", row.sampler, row.temperature)).x_label("x").y_label("y");
    panel.y_range(-3, 3);
    plot::Color shade = plot::palette(0);
    shade.alpha = 0.3;
    panel.band(row.band.x, row.band.low, row.band.high, {.color = shade});
    panel.points(points.x, points.y, {.color = plot::Color{0, 0, 0, 0.35}, .size = 1.5});
    panel.line(row.band.x, row.band.mean, {.color = plot::palette(0), .size = 1.2});
  }
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/predictions.{}", folder, ending));
}

}  // namespace

std::string bnn_text(const BnnTable& table) {
  return title(table) + "\n\n" + aligned(words_of(table)) + "\n" + footnotes(table);
}

std::string bnn_markdown(const BnnTable& table) {
  return title(table) + "\n\n" + markdown(words_of(table)) + "\n" + footnotes(table);
}

std::string bnn_csv(const BnnTable& table) {
  std::string text =
      "sampler,temperature,nll,mse,rmse,ms_per_step,peak_rss_bytes,rss_bytes_before,nll_all_kept,nll_middle,"
      "nll_range,log_density,weight_rms,step_size,acceptance,steps,chains,seconds,published_nll,published_"
      "mse,"
      "published_ms_per_step,directions\n";
  for (const auto& row : table.rows) {
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", row.sampler, row.temperature,
                    row.last.nll, row.last.mse, std::sqrt(row.last.mse), row.ms_per_step, row.peak_bytes,
                    row.bytes_before, row.all.nll, row.nll_middle, range_of(row.last_of_chains),
                    row.log_density, row.weight_rms, row.step_size ? fmt::format("{}", *row.step_size) : "",
                    row.acceptance, row.steps, row.chains, row.seconds);
    const auto paper = published(row);
    text += paper ? fmt::format(",{},{},{}", paper->nll, paper->mse, paper->ms_per_step) : ",,,";
    text += fmt::format(",{}\n", row.directions);
  }
  return text;
}

nlohmann::ordered_json bnn_json(const BnnTable& table) {
  const auto& s = table.settings;
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto json = to_json(row);
    json["nll_range"] = range_of(row.last_of_chains);
    json["published"] = nullptr;
    if (const auto p = published(row))
      json["published"] = {
          {"nll", p->nll}, {"mse", p->mse}, {"ms_per_step", p->ms_per_step}, {"ms_sd", p->ms_sd}};
    rows.push_back(std::move(json));
  }
  return {{"table", rows},
          {"settings",
           {{"samplers", s.samplers},
            {"temperatures", s.temperatures},
            {"steps", s.steps},
            {"burn", s.burn},
            {"thin", s.thin},
            {"chains", s.chains},
            {"hidden", s.hidden},
            {"prior_sd", s.prior_sd},
            {"sigma", s.sigma},
            {"data", s.data.empty() ? "made" : s.data},
            {"tune", s.tune},
            {"seed", s.seed}}},
          {"seconds", table.seconds}};
}

void bnn_figures(const BnnTable& table, const std::string& folder) {
  nll_figure(table, folder);
  predictions_figure(table, folder);
}

}  // namespace onward::experiments
