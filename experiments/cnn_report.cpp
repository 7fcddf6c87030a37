#include "cnn_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cnn_samplers.hpp"
#include "onward/plot/figure.hpp"
#include "onward/util/memory.hpp"
#include "words.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;

/// Over the chains of the best step size.
struct Spread {
  double mean = 0, sd = 0;
};

template <class Field>
Spread over(const std::vector<CnnChain>& chains, const Field& field) {
  Spread result;
  const auto n = static_cast<double>(chains.size());
  for (const auto& chain : chains) result.mean += field(chain) / n;
  for (const auto& chain : chains) result.sd += std::pow(field(chain) - result.mean, 2);
  result.sd = chains.size() > 1 ? std::sqrt(result.sd / (n - 1)) : 0;
  return result;
}

Spread accuracy_of(const CnnQualityRow& row) {
  return over(row.chains, [](const CnnChain& chain) { return chain.test.accuracy; });
}
Spread ece_of(const CnnQualityRow& row) {
  return over(row.chains, [](const CnnChain& chain) { return chain.test.ece; });
}

std::string with_sd(const Spread& ours, std::size_t count, const std::optional<Spread>& published) {
  std::string text = fmt::format("{:.4f}", ours.mean);
  if (count > 1) text += fmt::format(" +- {:.4f}", ours.sd);
  if (published) text += fmt::format(" ({:.4f} +- {:.4f})", published->mean, published->sd);
  return text;
}

Words quality_words(const CnnTable& table) {
  Words words{{"sampler", "accuracy (published)", "ECE (published)", "NLL", "gain in accuracy", "in ECE",
               "step size", "acceptance", "log density", "rms move", "s/step"},
              {}};
  const CnnStart& start = *table.start;
  words.lines.push_back({"SGD start", both(start.test.accuracy, published_cnn_start_accuracy, 4),
                         both(start.test.ece, published_cnn_start_ece, 4),
                         fmt::format("{:.4f}", start.test.nll), "-", "-", "-", "-", "0", "0", "-"});
  for (const auto& row : table.quality) {
    const auto paper = published_cnn_quality(row.sampler);
    const auto published = [&](double PublishedCnnQuality::*mean, double PublishedCnnQuality::*sd) {
      return paper ? std::optional(Spread{(*paper).*mean, (*paper).*sd}) : std::nullopt;
    };
    const auto mean = [&](const auto& field) { return over(row.chains, field).mean; };
    const Spread accuracy = accuracy_of(row), ece = ece_of(row);
    const std::size_t count = row.chains.size();
    const auto& step_size = row.chains[0].step_size;
    words.lines.push_back(
        {row.sampler,
         with_sd(accuracy, count,
                 published(&PublishedCnnQuality::accuracy, &PublishedCnnQuality::accuracy_sd)),
         with_sd(ece, count, published(&PublishedCnnQuality::ece, &PublishedCnnQuality::ece_sd)),
         fmt::format("{:.4f}", mean([](const CnnChain& c) { return c.test.nll; })),
         fmt::format("{:+.4f}", accuracy.mean - start.test.accuracy),
         fmt::format("{:+.4f}", start.test.ece - ece.mean),
         step_size ? fmt::format("{:.3g}", *step_size) : "-",
         fmt::format("{:.2f}", mean([](const CnnChain& c) { return c.acceptance; })),
         fmt::format("{:+.1f}", mean([](const CnnChain& c) { return c.log_density; }) - start.log_density),
         fmt::format("{:.2g}", mean([](const CnnChain& c) { return c.rms_move; })),
         fmt::format("{:.3g}", mean([](const CnnChain& c) { return c.seconds_per_step; }))});
  }
  return words;
}

Words grid_words(const CnnTable& table) {
  Words words{{"sampler", "step size", "held-out NLL", "accuracy", "ECE", "NLL", "acceptance", "log density"},
              {}};
  for (const auto& row : table.quality)
    for (const auto& chain : row.grid) {
      if (!chain.step_size) continue;
      words.lines.push_back(
          {row.sampler,
           fmt::format("{:.3g}{}", *chain.step_size, chain.step_size == row.chains[0].step_size ? " *" : ""),
           fmt::format("{:.4f}", chain.held_out.nll), fmt::format("{:.4f}", chain.test.accuracy),
           fmt::format("{:.4f}", chain.test.ece), fmt::format("{:.4f}", chain.test.nll),
           fmt::format("{:.2f}", chain.acceptance),
           fmt::format("{:+.1f}", chain.log_density - table.start->log_density)});
    }
  return words;
}

std::string title_of(const CnnTimingRow& row) {
  return row.form ? fmt::format("{}, {}", row.sampler, word_of(*row.form)) : row.sampler;
}

/// The published mala keeps all activations.
std::optional<PublishedCnnTime> published(const CnnTimingRow& row) {
  if (row.form && *row.form != net::GradientForm::whole) return std::nullopt;
  return published_cnn_time(row.sampler, row.images);
}

std::string time_words(const CnnTimingRow& row) {
  std::string text = row.refused ? fmt::format("would need {}", shown_bytes(row.needed_bytes))
                                 : fmt::format("{:.3g}", row.seconds_per_step);
  if (!row.refused && row.steps > 1) text += fmt::format(" +- {:.2g}", row.sd);
  if (const auto paper = published(row))
    text += paper->seconds > 0 ? fmt::format(" ({:.3f})", paper->seconds) : " (out of memory)";
  return text;
}

Words timing_words(const CnnTable& table) {
  Words words{{"sampler"}, {}};
  for (const char* what : {"s/step", "memory"})
    for (const std::size_t images : table.settings.sizes)
      words.headings.push_back(fmt::format("{}, {}", what, images));
  std::vector<std::string> titles;
  for (const auto& row : table.timing)
    if (std::find(titles.begin(), titles.end(), title_of(row)) == titles.end())
      titles.push_back(title_of(row));
  for (const auto& title : titles) {
    std::vector<std::string> times{title}, memories;
    for (const std::size_t images : table.settings.sizes)
      for (const auto& row : table.timing) {
        if (row.images != images || title_of(row) != title) continue;
        times.push_back(time_words(row));
        memories.push_back(row.refused ? "refused" : shown_bytes(row.peak_bytes));
      }
    times.insert(times.end(), memories.begin(), memories.end());
    words.lines.push_back(std::move(times));
  }
  return words;
}

std::string network(const CnnSettings& s, std::size_t dimension) {
  return fmt::format(
      "D = {}{}{}", dimension,
      s.width == CnnSettings{}.width ? "" : fmt::format(" (width {}: not the paper's network)", s.width),
      s.data.empty() ? "" : ", images of --data");
}

std::string quality_title(const CnnTable& table) {
  const auto& s = table.settings;
  const std::size_t predicted = std::min(s.predicted, s.draws);
  return fmt::format(
      "Tables 4 and 7: CIFAR-10, {}; first {} training images, {} x {} draws (published: 10000 images, 1 x "
      "1000), {} of each chain predict{}; {} seed{}",
      network(s, table.start->dimension), s.images, s.chains, s.draws, predicted, predicted == 1 ? "s" : "",
      s.seeds, s.seeds == 1 ? "" : "s");
}

std::string timing_title(const CnnTable& table) {
  return fmt::format(
      "Tables 5 and 6: seconds per step and peak memory by number of images; {}, no batch norm",
      network(table.settings, table.timing.empty() ? 0 : table.timing[0].dimension));
}

std::string quality_notes(const CnnTable& table) {
  return fmt::format(
      "In brackets: published. Accuracy, ECE (100 bins) and NLL of test images by mean probabilities over "
      "draws; +- sd over seeds. Gains over the start: above 0 is better.\n"
      "Step sizes: that of the grid with the least NLL of the last {} training images, which neither "
      "training "
      "nor sampling saw. Log density: of the posterior, over the start's,\n"
      "second halves of the chains. rms move: of parameters, from the start to a chain's end.\n",
      table.settings.held_out);
}

const char* timing_notes =
    "In brackets: published, on a GPU of 48 GB. Memory: peak of the step's process beyond program and data. "
    "mala: with activations of all images kept (whole, as published), of a piece of\n"
    "them (pieces), or of a piece at some layers (checkpoint). Ours keeps its gradient, and fmala its jet, "
    "from "
    "step to step; published are two a step.\n";

std::string assemble(const CnnTable& table, std::string (*show)(const Words&)) {
  std::string text;
  if (table.start) {
    text += quality_title(table) + "\n\n" + show(quality_words(table)) + "\n" + quality_notes(table);
    const Words grid = grid_words(table);
    if (!grid.lines.empty()) text += "\nThe grids (* taken):\n\n" + show(grid);
  }
  if (!table.timing.empty())
    text += std::string(text.empty() ? "" : "\n") + timing_title(table) + "\n\n" + show(timing_words(table)) +
            "\n" + timing_notes;
  return text;
}

}  // namespace

std::string cnn_text(const CnnTable& table) { return assemble(table, aligned); }
std::string cnn_markdown(const CnnTable& table) { return assemble(table, markdown); }

std::string cnn_quality_csv(const CnnTable& table) {
  if (!table.start) return "";
  std::string text =
      "sampler,step_size,seed,best,accuracy,ece,nll,held_out_accuracy,held_out_ece,held_out_nll,acceptance,"
      "log_"
      "density,rms_move,seconds_per_step\n";
  const auto scores = [](const CnnScores& s) { return fmt::format("{},{},{}", s.accuracy, s.ece, s.nll); };
  text += fmt::format("start,,,,{},{},,{},0,\n", scores(table.start->test), scores(table.start->held_out),
                      table.start->log_density);
  for (const auto& row : table.quality) {
    const auto add = [&](const CnnChain& chain, bool best) {
      text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row.sampler,
                          chain.step_size ? fmt::format("{}", *chain.step_size) : "", chain.seed,
                          best ? 1 : 0, scores(chain.test), scores(chain.held_out), chain.acceptance,
                          chain.log_density, chain.rms_move, chain.seconds_per_step);
    };
    for (const auto& chain : row.grid)
      if (chain.step_size != row.chains[0].step_size) add(chain, false);
    for (const auto& chain : row.chains) add(chain, true);
  }
  return text;
}

std::string cnn_timing_csv(const CnnTable& table) {
  if (table.timing.empty()) return "";
  std::string text =
      "sampler,gradient,images,seconds_per_step,seconds_sd,steps,peak_bytes,needed_bytes,refused,published_"
      "seconds\n";
  for (const auto& row : table.timing) {
    const auto paper = published(row);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row.sampler, row.form ? word_of(*row.form) : "",
                        row.images, row.seconds_per_step, row.sd, row.steps, row.peak_bytes, row.needed_bytes,
                        row.refused ? 1 : 0,
                        paper && paper->seconds > 0 ? fmt::format("{}", paper->seconds) : "");
  }
  return text;
}

ordered_json cnn_json(const CnnTable& table) {
  const auto& s = table.settings;
  ordered_json json;
  if (table.start) {
    json["start"] = to_json(*table.start);
    json["start"]["published"] = {{"accuracy", published_cnn_start_accuracy},
                                  {"ece", published_cnn_start_ece}};
    auto rows = ordered_json::array();
    for (const auto& row : table.quality) {
      const Spread accuracy = accuracy_of(row), ece = ece_of(row);
      ordered_json one{{"sampler", row.sampler},
                       {"step_size", to_json(row.chains[0]).at("step_size")},
                       {"accuracy", accuracy.mean},
                       {"accuracy_sd", accuracy.sd},
                       {"ece", ece.mean},
                       {"ece_sd", ece.sd},
                       {"accuracy_gain", accuracy.mean - table.start->test.accuracy},
                       {"ece_gain", table.start->test.ece - ece.mean},
                       {"chains", ordered_json::array()},
                       {"grid", ordered_json::array()},
                       {"published", nullptr}};
      for (const auto& chain : row.chains) one["chains"].push_back(to_json(chain));
      for (const auto& chain : row.grid) one["grid"].push_back(to_json(chain));
      if (const auto p = published_cnn_quality(row.sampler))
        one["published"] = {{"accuracy", p->accuracy},
                            {"accuracy_sd", p->accuracy_sd},
                            {"ece", p->ece},
                            {"ece_sd", p->ece_sd}};
      rows.push_back(std::move(one));
    }
    json["quality"] = rows;
  }
  if (!table.timing.empty()) {
    auto rows = ordered_json::array();
    for (const auto& row : table.timing) {
      auto one = to_json(row);
      one["published"] = nullptr;
      if (const auto p = published(row))
        one["published"] = p->seconds > 0
                               ? ordered_json{{"seconds_per_step", p->seconds}, {"seconds_sd", p->sd}}
                               : ordered_json("out of memory");
      rows.push_back(std::move(one));
    }
    json["timing"] = rows;
  }
  json["settings"] = {{"samplers", s.samplers},
                      {"width", s.width},
                      {"prior_sd", s.prior_sd},
                      {"start", s.start},
                      {"data", s.data.empty() ? "cifar10" : s.data},
                      {"images", s.images},
                      {"held_out", s.held_out},
                      {"test_images", s.test_images},
                      {"chains", s.chains},
                      {"draws", s.draws},
                      {"predicted", s.predicted},
                      {"grid", s.grid},
                      {"seeds", s.seeds},
                      {"sizes", s.sizes},
                      {"timing_steps", s.timing_steps},
                      {"memory_limit", s.memory_limit},
                      {"seed", s.seed}};
  json["seconds"] = table.seconds;
  return json;
}

void cnn_figure(const CnnTable& table, const std::string& folder) {
  std::vector<const CnnQualityRow*> rows;
  for (const auto& row : table.quality)
    if (row.grid.size() > 1) rows.push_back(&row);
  if (rows.empty()) return;
  plot::Figure figure(2, rows.size(), 5.5 * static_cast<double>(rows.size()), 10);
  const plot::Color start_color{0.4, 0.4, 0.4};
  figure.key({{"draws", plot::palette(0)},
              {"step size taken", plot::palette(1)},
              {"SGD start", start_color, plot::Dash::dashed}});
  struct Score {
    const char* title;
    double CnnScores::*field;
  };
  const Score scores[] = {{"accuracy", &CnnScores::accuracy}, {"ECE", &CnnScores::ece}};
  for (std::size_t j = 0; j < rows.size(); ++j)
    for (std::size_t i = 0; i < 2; ++i) {
      const auto field = scores[i].field;
      auto& panel = figure.panel(i, j);
      panel.x_scale(plot::Scale::log);
      if (i == 0) panel.title(rows[j]->sampler);
      if (i == 1) panel.x_label("step size");
      if (j == 0) panel.y_label(scores[i].title);
      std::vector<double> x, y, best_x, best_y;
      for (const auto& chain : rows[j]->grid) {
        x.push_back(*chain.step_size);
        y.push_back(chain.test.*field);
      }
      for (const auto& chain : rows[j]->chains) {
        best_x.push_back(*chain.step_size);
        best_y.push_back(chain.test.*field);
      }
      const double start = table.start->test.*field;
      double least = start, most = start;
      for (const auto* values : {&y, &best_y})
        for (const double value : *values) {
          least = std::min(least, value);
          most = std::max(most, value);
        }
      const double margin = 0.1 * (most - least) + 1e-4;
      panel.y_range(least - margin, most + margin);
      panel.rule(start, {.color = start_color, .dash = plot::Dash::dashed});
      panel.line(x, y, {.color = plot::palette(0)}).points(x, y, {.color = plot::palette(0), .size = 3});
      panel.points(best_x, best_y, {.color = plot::palette(1), .size = 4});
    }
  for (const char* ending : {"svg", "png"}) figure.save(fmt::format("{}/step-size.{}", folder, ending));
}

std::string cnn_start_text(const CnnStart& start) {
  return fmt::format("start: test accuracy {:.4f}, NLL {:.4f}, ECE {:.4f} (published {:.4f}, ECE {:.3f})",
                     start.test.accuracy, start.test.nll, start.test.ece, published_cnn_start_accuracy,
                     published_cnn_start_ece);
}

}  // namespace onward::experiments
