#include "logreg_report.hpp"

#include <cmath>

#include <fmt/format.h>

#include "onward/plot/figure.hpp"
#include "words.hpp"

namespace onward::experiments {
namespace {

Words words_of(const LogregTable& table) {
  Words words{{"sampler", "NLL (published)", "accuracy", "ECE", "ms/step", "memory MB", "log posterior",
               "NLL all kept", "ESS lp/s", "ESS weights/s", "step size", "acceptance", "steps", "minutes"},
              {}};
  for (const auto& row : table.rows) {
    const auto published = published_logreg(row.sampler);
    const auto of = [&](double PublishedLogregRow::*field) {
      return published ? std::optional((*published).*field) : std::nullopt;
    };
    words.lines.push_back(
        {row.sampler, both(row.last.nll, of(&PublishedLogregRow::nll), 3),
         both(row.last.accuracy, of(&PublishedLogregRow::accuracy), 3),
         both(row.last.ece, of(&PublishedLogregRow::ece), 4),
         both(row.ms_per_step, of(&PublishedLogregRow::ms_per_step), row.ms_per_step < 1 ? 3 : 1),
         fmt::format("{:.0f}", row.peak_bytes / 1e6), fmt::format("{:.0f}", row.log_density),
         fmt::format("{:.3f}", row.all.nll), fmt::format("{:.2g}", row.ess_log_density / row.seconds),
         fmt::format("{:.2g}", row.ess_weights_least / row.seconds),
         row.step_size ? fmt::format("{:.3g}", *row.step_size) : "-", fmt::format("{:.2f}", row.acceptance),
         row.chains > 1 ? fmt::format("{} x {}", row.chains, row.steps) : std::to_string(row.steps),
         fmt::format("{:.1f}", row.seconds / 60)});
  }
  return words;
}

/// How many times the effective draws a second of the best of the paper's four samplers the axes make.
std::string axes_beside_the_paper(const LogregTable& table) {
  const LogregRow *best = nullptr, *axes = nullptr;
  const auto rate = [](const LogregRow& row) { return row.ess_weights_least / row.seconds; };
  for (const auto& row : table.rows) {
    if (row.sampler == "newton-line-axis") axes = &row;
    if (row.sampler.ends_with("fmala") && (best == nullptr || rate(row) > rate(*best))) best = &row;
  }
  constexpr double agreeing = 1.05;  // of chains that have not arrived a ratio says nothing
  if (best == nullptr || axes == nullptr || !(axes->rhat_log_density.value_or(INFINITY) < agreeing))
    return {};
  return fmt::format(
      "ESS of the weights per second: newton-line-axis makes {:.0f} times that of {}, the best of the "
      "paper's four "
      "here. Even a chain\nthat has gone nowhere seems to have made an effective draw or two, so the shorter "
      "the run "
      "the smaller that ratio looks.\n",
      rate(*axes) / rate(*best), best->sampler);
}

std::string footnotes(const LogregTable& table) {
  std::string text =
      "In brackets: published. NLL, accuracy and ECE (100 bins) on the test images, from the mean predictive "
      "probability of the last 100 kept draws.\n"
      "The log posterior (mean over those draws, up to the prior's constant) says how far each sampler came: "
      "NLLs below that of newton-line-axis belong\n"
      "to chains that have not arrived, since stopping early helps the test NLL of a linear model. ESS: "
      "bulk, "
      "of the log posterior and the least of 50 random\n"
      "weights, over the kept draws, per second of the whole run; of chains that have not arrived it means "
      "little.\n";
  for (const auto& row : table.rows)
    if (row.rhat_log_density)
      text +=
          fmt::format("{}: R-hat of the log posterior over {} chains {:.3f}; set-up {:.1f} s of {:.1f} s.\n",
                      row.sampler, row.chains, *row.rhat_log_density, row.set_up_seconds, row.seconds);
  return text + axes_beside_the_paper(table);
}

std::string title(const LogregTable& table) {
  const auto& s = table.settings;
  return fmt::format(
      "Table 2: MNIST, softmax regression, D = {0}; {1} training images, {2} steps, {3} burned, every {4}th "
      "kept; newton-line-axis: {5} sweeps of {0} steps, a sixth burned",
      table.rows.empty() ? 0 : table.rows[0].dimension, s.images, s.steps, s.burn, s.thin, s.sweeps);
}

}  // namespace

std::string logreg_text(const LogregTable& table) {
  return title(table) + "\n\n" + aligned(words_of(table)) + "\n" + footnotes(table);
}

std::string logreg_markdown(const LogregTable& table) {
  return title(table) + "\n\n" + markdown(words_of(table)) + "\n" + footnotes(table);
}

nlohmann::ordered_json logreg_json(const LogregTable& table) {
  const auto& s = table.settings;
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto json = to_json(row);
    json["ess_log_density_per_second"] = row.ess_log_density / row.seconds;
    json["ess_weights_least_per_second"] = row.ess_weights_least / row.seconds;
    json["ess_weights_median_per_second"] = row.ess_weights_median / row.seconds;
    json["published"] = nullptr;
    if (const auto p = published_logreg(row.sampler))
      json["published"] = {{"nll", p->nll},
                           {"accuracy", p->accuracy},
                           {"ece", p->ece},
                           {"ms_per_step", p->ms_per_step},
                           {"ms_sd", p->ms_sd}};
    rows.push_back(std::move(json));
  }
  return {{"table", rows},
          {"settings",
           {{"samplers", s.samplers},
            {"images", s.images},
            {"steps", s.steps},
            {"burn", s.burn},
            {"thin", s.thin},
            {"sweeps", s.sweeps},
            {"axis_chains", s.axis_chains},
            {"tune", s.tune},
            {"seed", s.seed}}},
          {"seconds", table.seconds}};
}

void logreg_figure(const LogregTable& table, const std::string& folder) {
  plot::Figure figure(1, 2, 22, 10);
  std::vector<plot::KeyEntry> key;
  auto& nll = figure.panel(0, 0);
  auto& accuracy = figure.panel(0, 1);
  for (auto* panel : {&nll, &accuracy}) panel->x_scale(plot::Scale::log).x_label("seconds");
  nll.y_label("test NLL").y_scale(plot::Scale::log);
  accuracy.y_label("test accuracy");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const auto& row = table.rows[i];
    std::vector<double> seconds, losses, shares;
    for (const auto& point : row.curve) {
      seconds.push_back(point.seconds);
      losses.push_back(point.nll);
      shares.push_back(point.accuracy);
    }
    const plot::Style style{.color = plot::palette(i), .size = 1.2, .dash = plot::dash_pattern(i)};
    nll.line(seconds, losses, style);
    accuracy.line(seconds, shares, style);
    key.push_back({row.sampler, plot::palette(i), plot::dash_pattern(i)});
  }
  figure.key(key);
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/curves.{}", folder, ending));
}

}  // namespace onward::experiments
