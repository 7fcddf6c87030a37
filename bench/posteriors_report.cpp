// The figures of `onward bench posteriors` as rows and as a page of tables.

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "onward/target/price.hpp"
#include "posteriors.hpp"

namespace onward::bench {
namespace {

/// newton-line's second setting is its best relaxation.
bool best_relaxation(const SamplerFigures& f) { return f.sampler == "newton-line" && f.setting != 1; }

std::string label(const SamplerFigures& f) { return best_relaxation(f) ? "newton-line, best c" : f.sampler; }

const SamplerFigures* find(const std::vector<SamplerFigures>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& f) { return label(f) == name; });
  return found == list.end() ? nullptr : &*found;
}

/// Every label that occurs, in order.
std::vector<std::string> labels(const PosteriorsResult& result,
                                std::vector<SamplerFigures> PosteriorFigures::*list) {
  std::vector<std::string> names;
  for (const auto& p : result.posteriors)
    for (const auto& f : p.*list)
      if (std::find(names.begin(), names.end(), label(f)) == names.end()) names.push_back(label(f));
  return names;
}

// --- newton-line untuned against pc-line-fmala tuned

struct Duel {
  const PosteriorFigures* posterior;
  double newton, line;
  double ratio() const { return newton / line; }
};

std::vector<Duel> duels(const PosteriorsResult& result) {
  std::vector<Duel> list;
  for (const auto& p : result.posteriors) {
    const auto* newton = find(p.tuned, "newton-line");
    const auto* line = find(p.tuned, "pc-line-fmala");
    if (newton != nullptr && line != nullptr)
      list.push_back({&p, 1000 * newton->per_evaluation(), 1000 * line->per_evaluation()});
  }
  return list;
}

constexpr double near_enough = 1 / 1.5, far_below = 0.5, wanted_share = 0.8;
constexpr std::size_t longest_allowed = 500;

void add_duel_rows(const PosteriorsResult& result, std::vector<Row>& rows) {
  double near_ones = 0, count = 0, worst = INFINITY;
  for (const auto& d : duels(result)) {
    rows.push_back({fmt::format("{}: newton-line, c = 1, no tuning", d.posterior->name), d.newton,
                    "ESS/1000 evaluations", "pc-line-fmala at its best step size", d.line, d.ratio(),
                    fmt::format("ratio >= {}", far_below), d.ratio() >= far_below});
    ++count;
    near_ones += d.ratio() >= near_enough ? 1 : 0;
    worst = std::min(worst, d.ratio());
  }
  if (count == 0) return;
  rows.push_back({"newton-line untuned within 1.5x of the best tuned pc-line-fmala",
                  near_ones / count,
                  "share of the set",
                  {},
                  {},
                  {},
                  fmt::format(">= {}", wanted_share),
                  near_ones / count >= wanted_share});
  rows.push_back({"newton-line untuned beside the best tuned pc-line-fmala, worst of the set",
                  worst,
                  "ratio",
                  {},
                  {},
                  {},
                  fmt::format(">= {}", far_below),
                  worst >= far_below});
}

// --- Markdown

/// A number to a few digits, in the fewest signs.
std::string number(double x) {
  if (!std::isfinite(x)) return "-";
  const double size = std::abs(x);
  if (size >= 1000) return fmt::format("{:.0f}", std::round(x / 10) * 10);
  if (size >= 10) return fmt::format("{:.0f}", x);
  if (size >= 1) return fmt::format("{:.1f}", x);
  return fmt::format("{:.2g}", x);
}

std::string table_head(const std::vector<std::string>& columns) {
  std::string head = "|", line = "|";
  for (const auto& column : columns) {
    head += fmt::format(" {} |", column);
    line += "---|";
  }
  return fmt::format("{}\n{}\n", head, line);
}

/// A table with a row a posterior and a column a sampler; an empty cell where there is no figure.
std::string sampler_table(
    const PosteriorsResult& result, std::vector<SamplerFigures> PosteriorFigures::*list,
    const std::function<std::string(const PosteriorFigures&, const SamplerFigures&)>& cell,
    const std::vector<std::string>& left_out = {}) {
  auto names = labels(result, list);
  std::erase_if(names, [&](const auto& name) {
    return std::find(left_out.begin(), left_out.end(), name) != left_out.end();
  });
  std::vector<std::string> columns{"posterior"};
  columns.insert(columns.end(), names.begin(), names.end());
  std::string text = table_head(columns);
  for (const auto& p : result.posteriors) {
    text += fmt::format("| {} |", p.name);
    for (const auto& name : names) {
      const auto* f = find(p.*list, name);
      // Where c = 1 is the best relaxation its figures stand in both columns.
      if (f == nullptr && name == "newton-line, best c") f = find(p.*list, "newton-line");
      text += f == nullptr ? std::string(" |") : fmt::format(" {} |", cell(p, *f));
    }
    text += "\n";
  }
  return text;
}

double best(const PosteriorFigures& p, double (SamplerFigures::*figure)() const) {
  double most = 0;
  for (const auto& f : p.tuned) most = std::max(most, (f.*figure)());
  return most;
}

std::string bold_if(bool bold, const std::string& text) { return bold ? fmt::format("**{}**", text) : text; }

std::string tuned_tables(const PosteriorsResult& result) {
  const auto list = &PosteriorFigures::tuned;
  std::string text =
      "### Effective draws per 1,000 evaluations\n\nLeast bulk ESS of all parameters; each sampler at its "
      "best "
      "step size, the same metric for all. The best of a row is bold.\n\n";
  text += sampler_table(result, list, [](const auto& p, const auto& f) {
    return bold_if(f.per_evaluation() == best(p, &SamplerFigures::per_evaluation),
                   number(1000 * f.per_evaluation()));
  });
  text +=
      "\n### Effective draws per second, as multiples of rwm's\n\nAbove 1 the sampler beats random-walk "
      "Metropolis with the same metric on the clock of this machine.\n\n";
  text += sampler_table(result, list, [](const auto& p, const auto& f) {
    const auto* rwm = find(p.tuned, "rwm");
    if (f.sampler == "rwm") return number(f.per_second()) + "/s";
    if (rwm == nullptr) return number(f.per_second()) + "/s";
    return bold_if(f.per_second() == best(p, &SamplerFigures::per_second),
                   number(f.per_second() / rwm->per_second()));
  });
  text +=
      "\n### Errors at a fixed budget\n\nLargest error of a mean, in standard deviations; largest error of a "
      "variance, relative; and the share of runs in which both are within 5%. Medians over runs of 4 chains "
      "that "
      "start at independent draws.\n\n";
  text += sampler_table(result, list, [](const auto&, const auto& f) {
    return fmt::format("{} / {} ({:.0f}%)", number(f.mean_error), number(f.variance_error), 100 * f.within);
  });
  text +=
      "\n### Best step sizes\n\nIn the units of the metric, and the acceptance there; of newton-line c.\n\n";
  text += sampler_table(result, list, [](const auto&, const auto& f) {
    return fmt::format("{} ({:.0f}%)", number(f.setting), 100 * f.acceptance);
  });
  return text;
}

std::string untuned_table(const PosteriorsResult& result) {
  std::string text =
      "\n### As warm-up leaves them\n\nEach sampler from random starts with the defaults, half of the budget "
      "spent "
      "on its warm-up. Effective draws per 1,000 evaluations of the second half, as a share of those of the "
      "table at "
      "the top (which start in equilibrium and have the metric for nothing).\n\n";
  return text + sampler_table(result, &PosteriorFigures::untuned, [](const auto& p, const auto& f) {
           const auto* tuned = find(p.tuned, f.sampler);
           return tuned == nullptr ? number(1000 * f.per_evaluation())
                                   : number(f.per_evaluation() / tuned->per_evaluation());
         });
}

std::string duel_table(const PosteriorsResult& result) {
  const auto list = duels(result);
  if (list.empty()) return {};
  std::string text =
      "\n### newton-line untuned beside pc-line-fmala tuned\n\nEffective draws per 1,000 evaluations: c = 1 "
      "against the best step size.\n\n" +
      table_head({"posterior", "newton-line", "pc-line-fmala", "ratio"});
  for (const auto& d : list)
    text += fmt::format("| {} | {} | {} | {:.2f} |\n", d.posterior->name, number(d.newton), number(d.line),
                        d.ratio());
  return text;
}

std::string comparison_table(const PosteriorsResult& result) {
  std::string rows;
  for (const auto& p : result.posteriors)
    for (const auto& c : p.comparisons)
      rows += fmt::format("| {} | {} | effective draws per {} | {:.2f} | {} |\n", p.name, c.name,
                          c.by_time ? "second" : "evaluation", c.ratio(), c.wanted);
  if (rows.empty()) return {};
  return "\n### What two defaults gain\n\n" + table_head({"posterior", "what", "in", "ratio", "wanted"}) +
         rows;
}

/// How a run without options is asked for: by the program if it has the model.
std::string default_words(const PosteriorFigures& p) {
  return p.command.empty() ? "sample(" + p.name + ")" : "onward sample " + p.command;
}

std::string default_table(const PosteriorsResult& result) {
  std::string rows;
  for (const auto& p : result.posteriors)
    if (p.default_run)
      rows += fmt::format("| `{}` | {} | {:.3f} | {} | {:.1f} | {:.0f} | {} |\n", default_words(p),
                          p.default_run->sampler, p.default_run->max_rhat, number(p.default_run->min_ess),
                          p.default_run->seconds, p.default_run->allowed,
                          p.default_run->met() ? "yes" : "**no**");
  if (rows.empty()) return {};
  return "\n### With nothing but the model's name\n\nFour chains; wanted: R-hat below 1.01 and more than 400 "
         "effective "
         "draws of every parameter within the time allowed.\n\n" +
         table_head(
             {"command", "sampler it chose", "largest R-hat", "least ESS", "seconds", "allowed", "met"}) +
         rows;
}

std::string stay_table(const PosteriorsResult& result) {
  std::string rows;
  for (const auto& p : result.posteriors)
    for (const auto& s : p.stays)
      rows += fmt::format("| {} | {} | {} | {} |\n", p.name, s.sampler, s.steps, s.stay);
  if (rows.empty()) return {};
  return "\n### Longest stays\n\nSteps without a move, where curvature vanishes.\n\n" +
         table_head({"posterior", "sampler", "steps", "longest stay"}) + rows;
}

std::string price_table(const PosteriorsResult& result) {
  std::string rows;
  for (const auto& p : result.posteriors)
    if (const auto& m = p.prices)
      rows +=
          fmt::format("| {} | {} ns | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} |\n", p.name,
                      number(1e9 * m->value_seconds), m->slope, m->curvature, m->slope_pair,
                      m->curvature_pair, m->gradient, EvaluationPrice::of_dimension(p.dimension).gradient);
  if (rows.empty()) return {};
  const EvaluationPrice fixed;
  rows += fmt::format("| the fixed table | 1 | {} | {} | {} | {} | | |\n", fixed.slope, fixed.curvature,
                      fixed.slope_pair, fixed.curvature_pair);
  return "\n### What evaluations cost\n\nA plain value, and others as multiples of it; above, evaluations "
         "are "
         "weighed by the fixed table in the last row and column.\n\n" +
         table_head({"posterior", "value", "slope", "curvature", "two slopes", "two curvatures", "gradient",
                     "gradient, fixed"}) +
         rows;
}

std::string set_table(const PosteriorsResult& result) {
  std::string text = "\n### The set\n\n" + table_head({"posterior", "D", "metric", "evaluations of a run",
                                                       "runs", "compared with the truth"});
  for (const auto& p : result.posteriors)
    text += fmt::format("| {} | {} | {} | {:.0f} | {} | {} |\n", p.name, p.dimension, p.metric, p.budget,
                        p.runs, p.quantities.empty() ? "the parameters" : p.quantities);
  return text;
}

}  // namespace

std::vector<Row> rows(const PosteriorsResult& result) {
  std::vector<Row> rows;
  for (const auto& p : result.posteriors) {
    const auto* rwm = find(p.tuned, "rwm");
    const auto beside_rwm = [&](const SamplerFigures& f, const char* what, double value, const char* unit,
                                double peer) {
      Row row{fmt::format("{}, {}: {}", p.name, label(f), what), value, unit};
      if (rwm != nullptr && f.sampler != "rwm") {
        row.peer = "rwm, same metric, its best step size";
        row.peer_value = peer;
        row.ratio = value / peer;
      }
      rows.push_back(row);
    };
    for (const auto& f : p.tuned) {
      beside_rwm(f, "min ESS per 1000 evaluations", 1000 * f.per_evaluation(), "ESS/1000 evaluations",
                 rwm == nullptr ? 0 : 1000 * rwm->per_evaluation());
      beside_rwm(f, "min ESS per second", f.per_second(), "ESS/s", rwm == nullptr ? 0 : rwm->per_second());
      const auto plain = [&](const char* what, double value, const char* unit) {
        rows.push_back({fmt::format("{}, {}: {}", p.name, label(f), what), value, unit});
      };
      plain("best setting", f.setting, f.sampler == "newton-line" ? "c" : "step size");
      plain("acceptance", f.acceptance, "share");
      plain("largest error of a mean", f.mean_error, "sd");
      plain("largest error of a variance", f.variance_error, "relative");
      plain("runs within 5%", f.within, "share");
    }
    for (const auto& f : p.untuned) {
      Row row{fmt::format("{}, {} untuned: min ESS per 1000 evaluations", p.name, f.sampler),
              1000 * f.per_evaluation(), "ESS/1000 evaluations"};
      if (const auto* tuned = find(p.tuned, f.sampler)) {
        row.peer = "at its best step size, metric given";
        row.peer_value = 1000 * tuned->per_evaluation();
        row.ratio = f.per_evaluation() / tuned->per_evaluation();
      }
      rows.push_back(row);
      rows.push_back(
          {fmt::format("{}, {} untuned: largest error of a mean", p.name, f.sampler), f.mean_error, "sd"});
      rows.push_back({fmt::format("{}, {} untuned: largest error of a variance", p.name, f.sampler),
                      f.variance_error, "relative"});
    }
    for (const auto& c : p.comparisons) {
      const double scale = c.by_time ? 1 : 1000;
      rows.push_back({fmt::format("{}: {}", p.name, c.name), scale * c.figure(c.first),
                      c.by_time ? "ESS/s" : "ESS/1000 evaluations", c.peer, scale * c.figure(c.second),
                      c.ratio(), fmt::format("ratio >= {}", c.wanted), c.ratio() >= c.wanted});
    }
    if (const auto& d = p.default_run) {
      const std::string name = default_words(p);
      rows.push_back({fmt::format("{}: seconds, by {}", name, d->sampler),
                      d->seconds,
                      "s",
                      {},
                      {},
                      {},
                      fmt::format("R-hat < 1.01 and min ESS > 400 within {:.0f} s", d->allowed),
                      d->met()});
      rows.push_back({name + ": largest R-hat", d->max_rhat, "R-hat"});
      rows.push_back({name + ": min ESS", d->min_ess, "ESS"});
    }
    if (const auto& m = p.prices) {
      const auto price = [&](const char* what, double value, double fixed) {
        rows.push_back({fmt::format("{}: price of {}", p.name, what), value, "values", "the fixed table",
                        fixed, value / fixed});
      };
      const EvaluationPrice fixed = EvaluationPrice::of_dimension(p.dimension);
      price("a slope", m->slope, fixed.slope);
      price("a curvature", m->curvature, fixed.curvature);
      price("slopes along two lines", m->slope_pair, fixed.slope_pair);
      price("curvatures along two lines", m->curvature_pair, fixed.curvature_pair);
      price("a gradient", m->gradient, fixed.gradient);
    }
    for (const auto& s : p.stays) {
      Row row{fmt::format("{}, {}: longest stay in {} steps", p.name, s.sampler, s.steps),
              static_cast<double>(s.stay), "steps"};
      if (s.sampler == "newton-line") {
        row.bar = fmt::format("<= {}", longest_allowed);
        row.met = s.stay <= longest_allowed;
      }
      rows.push_back(row);
    }
  }
  add_duel_rows(result, rows);
  return rows;
}

std::string markdown(const PosteriorsResult& result) {
  std::string text =
      fmt::format("Made by `onward bench posteriors{}` in {:.0f} s{}.\n\n", result.quick ? " --quick" : "",
                  result.seconds, result.complete ? "" : "; it was interrupted");
  if (result.posteriors.empty()) return text;
  if (!labels(result, &PosteriorFigures::tuned).empty()) text += tuned_tables(result);
  if (!labels(result, &PosteriorFigures::untuned).empty()) text += untuned_table(result);
  return text + duel_table(result) + comparison_table(result) + default_table(result) + stay_table(result) +
         price_table(result) + set_table(result);
}

}  // namespace onward::bench
