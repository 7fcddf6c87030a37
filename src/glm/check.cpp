#include "onward/glm/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

/// What statistics are made of. Numbers are taken less a shift near their mean, lest squares cancel.
struct Sums {
  double sum = 0, squares = 0, zeros = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;

  void add(double x, double shift) {
    const double moved = x - shift;
    sum += moved;
    squares += moved * moved;
    least = std::min(least, x);
    most = std::max(most, x);
    zeros += x == 0 ? 1 : 0;
  }
};

struct Statistic {
  const char* name;
  double (*value)(const Sums& sums, double rows, double shift);
};

constexpr std::array statistics{
    Statistic{"mean", [](const Sums& sums, double rows, double shift) { return shift + sums.sum / rows; }},
    Statistic{"sd",
              [](const Sums& sums, double rows, double) {
                const double about = sums.squares - sums.sum * sums.sum / rows;
                return rows > 1 ? std::sqrt(std::max(about, 0.0) / (rows - 1)) : 0.0;
              }},
    Statistic{"min", [](const Sums& sums, double, double) { return sums.least; }},
    Statistic{"max", [](const Sums& sums, double, double) { return sums.most; }},
    Statistic{"zeros", [](const Sums& sums, double rows, double) { return sums.zeros / rows; }},
};

const Statistic& find_statistic(const std::string& name) {
  const auto found = std::ranges::find(statistics, name, &Statistic::name);
  if (found == statistics.end())
    throw UsageError(fmt::format("`statistic` {} is not known.{} There are {}", name,
                                 suggestion(name, check_statistics()), joined(check_statistics())));
  return *found;
}

/// So many draws, evenly spread over all chains, as if they were of one.
StoredDraws spread(const StoredDraws& all, std::size_t count) {
  const std::size_t there = all.chains * all.draws;
  StoredDraws some = all;
  some.chains = some.all_chains = 1;
  some.draws = some.longest = count;
  some.column = [&all, count, there](std::size_t parameter) {
    const Chains chains = all.column(parameter);
    Chains one{std::vector<double>(count)};
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t s = r * there / count;
      one[0][r] = chains[s / all.draws][s % all.draws];
    }
    return one;
  };
  return some;
}

/// Which rows belong together, by a column of the table.
struct Levels {
  std::vector<std::string> names;
  std::vector<std::uint32_t> part_of_row;  // 0: of none; else one more than the number of the name
  std::size_t without = 0;                 // rows

  Levels(const FittedRegression& fitted, const Table& data, const formula::Frame& frame,
         const std::string& name)
      : part_of_row(frame.rows) {
    if (name.empty()) return;
    const auto column = data.find(name);
    const bool numbers = column->kind() == ColumnKind::number;
    const auto value = [&](std::size_t i) {
      const std::size_t row = frame.table_rows.empty() ? i : frame.table_rows[i];
      if (numbers) return column->number(row);
      return column->code(row) == Column::missing_code ? std::nan("")
                                                       : static_cast<double>(column->code(row));
    };
    constexpr std::size_t most = 2000;
    std::map<double, std::uint32_t> part_of_value;
    for (std::size_t i = 0; i < frame.rows; ++i) {
      if (const double x = value(i); std::isnan(x))
        ++without;
      else
        part_of_value.emplace(x, 0);
      if (part_of_value.size() > most)
        throw Error(fmt::format(
            "{} has more than {} values: a check by groups needs a column with fewer, such as a factor", name,
            most));
    }
    std::vector<double> order;
    for (const auto& [x, part] : part_of_value) order.push_back(x);
    const auto spelling = [&](double x) {
      return numbers ? spelled_number(x) : column->levels()[static_cast<std::size_t>(x)];
    };
    // A factor of the formula has an order of its own.
    const auto factors = fitted.state.value("factors", nlohmann::ordered_json::object());
    const auto given = factors.value(name, std::vector<std::string>());
    std::ranges::stable_sort(order, {},
                             [&](double x) { return std::ranges::find(given, spelling(x)) - given.begin(); });
    for (const double x : order) {
      names.push_back(spelling(x));
      part_of_value[x] = static_cast<std::uint32_t>(names.size());
    }
    for (std::size_t i = 0; i < frame.rows; ++i)
      if (const double x = value(i); !std::isnan(x)) part_of_row[i] = part_of_value.at(x);
  }
};

class Check {
 public:
  Check(const FittedRegression& fitted, const Table& data, const StoredDraws& draws,
        const CheckOptions& options)
      : options_(options),
        few_(spread(draws, std::min(options.replicates, draws.chains * draws.draws))),
        predictions_(fitted, data, few_,
                     {.what = PredictionOptions::What::predictive,
                      .seed = options.seed,
                      .probabilities = {},
                      .threads = options.threads,
                      .response = true}),
        frame_(predictions_.frame()),
        levels_(fitted, data, frame_, options.group),
        classes_(predictions_.numbers_per_row()),
        ordinal_(fitted.family == Family::ordinal) {
    for (const std::string& name : options.statistics) find_statistic(name);
    if (classes_ > 1 && !options.statistics.empty())
      throw UsageError(fmt::format(
          "`statistic` is of numbers, and {} has classes: leave it out, and there is the share of "
          "each class",
          frame_.response_name));
    if (!frame_.y.empty()) shift_ = std::floor(frame_.y.front());
    const std::size_t parts = levels_.names.size() + 1;
    rows_.resize(parts);
    observed_.resize(parts * classes_);
    replicated_.resize(parts * classes_ * predictions_.draws());
    step_ = (frame_.rows + most_shown - 1) / most_shown;
    const std::size_t shown = (frame_.rows + step_ - 1) / step_;
    constexpr std::size_t numbers_in_memory = 1 << 22;
    result_.replicated.resize(
        std::min(predictions_.draws(), std::max<std::size_t>(numbers_in_memory / shown, 50)));
  }

  std::optional<PredictiveCheck> run() {
    bool stopped = false;
    predictions_.each_block(
        [&](std::size_t first, std::span<const PredictedRow> rows, std::span<const double> values) {
          const std::size_t each = classes_ * predictions_.draws();
          for (std::size_t i = 0; i < rows.size() / classes_; ++i)
            take(first + i, values.subspan(i * each, each));
          if (options_.progress) options_.progress(first + rows.size() / classes_, frame_.rows);
          stopped = options_.stop != nullptr && *options_.stop;
          return !stopped;
        });
    if (stopped) return std::nullopt;
    finish();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t most_shown = 20'000;

  /// One row: what was observed, and what each replicated data set has there, class after class.
  void take(std::size_t row, std::span<const double> values) {
    const std::size_t part = levels_.part_of_row[row];
    take_into(0, row, values);
    if (part > 0) take_into(part, row, values);
    if (row % step_ != 0) return;
    result_.y.push_back(outcome(row));
    result_.part.push_back(static_cast<std::uint32_t>(part));
    for (std::size_t k = 0; k < result_.replicated.size(); ++k)
      result_.replicated[k].push_back(value_of(values, k * predictions_.draws() / result_.replicated.size()));
  }

  void take_into(std::size_t part, std::size_t row, std::span<const double> values) {
    ++rows_[part];
    const std::size_t draws = predictions_.draws();
    for (std::size_t k = 0; k < classes_; ++k) {
      const double y = classes_ == 1 ? outcome(row) : outcome(row) == static_cast<double>(k) ? 1 : 0;
      whole_ = whole_ && y == std::floor(y);
      observed_[part * classes_ + k].add(y, shift());
      Sums* sums = &replicated_[(part * classes_ + k) * draws];
      const double* x = &values[k * draws];
      for (std::size_t s = 0; s < draws; ++s) {
        whole_ = whole_ && x[s] == std::floor(x[s]);
        sums[s].add(x[s], shift());
      }
    }
  }
  /// Classes count from 0, whether they are words or the numbers of an ordinal response.
  double outcome(std::size_t row) const {
    return frame_.y[row] - (ordinal_ && frame_.response_levels.empty() ? 1 : 0);
  }
  double shift() const { return classes_ == 1 ? shift_ : 0; }

  /// In one data set: a number, or the number of the class that came.
  double value_of(std::span<const double> values, std::size_t s) const {
    if (classes_ == 1) return values[s];
    for (std::size_t k = 0; k < classes_; ++k)
      if (values[k * predictions_.draws() + s] == 1) return static_cast<double>(k);
    return 0;
  }

  std::vector<std::string> chosen() const {
    if (!options_.statistics.empty()) return options_.statistics;
    double least = observed_[0].least, most = observed_[0].most, zeros = observed_[0].zeros;
    for (std::size_t s = 0; s < predictions_.draws(); ++s) {
      least = std::min(least, replicated_[s].least);
      most = std::max(most, replicated_[s].most);
      zeros += replicated_[s].zeros;
    }
    if (whole_ && least >= 0 && most <= 1) return {"mean"};  // which then says everything
    std::vector<std::string> names{"mean", "sd", "min", "max"};
    const double all = static_cast<double>(frame_.rows * (predictions_.draws() + 1));
    if (whole_ && (observed_[0].zeros > 0 || zeros > 0.01 * all)) names.emplace_back("zeros");
    return names;
  }

  CheckedStatistic statistic(std::size_t part, std::size_t k, const std::string& name,
                             const Statistic& what) const {
    const double rows = static_cast<double>(rows_[part]);
    CheckedStatistic checked{name, what.value(observed_[part * classes_ + k], rows, shift())};
    for (std::size_t s = 0; s < predictions_.draws(); ++s)
      checked.replicated.push_back(
          what.value(replicated_[(part * classes_ + k) * predictions_.draws() + s], rows, shift()));
    return checked;
  }

  void finish() {
    result_.response = frame_.response_name;
    result_.classes = predictions_.classes();
    result_.whole = whole_;
    result_.rows = frame_.rows;
    result_.replicates = predictions_.draws();
    result_.notes = frame_.notes;
    if (levels_.without > 0)
      result_.notes.push_back(fmt::format("{} of {} rows have no {}, and belong to none of its values.",
                                          levels_.without, frame_.rows, options_.group));
    const auto names = classes_ == 1 ? chosen() : std::vector<std::string>();
    for (std::size_t part = 0; part < rows_.size(); ++part) {
      CheckedRows& checked = result_.parts.emplace_back();
      checked.level = part == 0 ? "" : levels_.names[part - 1];
      checked.rows = rows_[part];
      for (const std::string& name : names)
        checked.statistics.push_back(statistic(part, 0, name, find_statistic(name)));
      for (std::size_t k = 0; k < classes_ && classes_ > 1; ++k)
        checked.statistics.push_back(
            statistic(part, k, "share of " + result_.classes[k], find_statistic("mean")));
    }
  }

  const CheckOptions& options_;
  StoredDraws few_;
  Predictions predictions_;
  const formula::Frame& frame_;
  Levels levels_;
  std::size_t classes_, step_ = 1;
  bool ordinal_;
  double shift_ = 0;
  bool whole_ = true;
  std::vector<std::size_t> rows_;  // of each part
  std::vector<Sums> observed_;     // part after part, class after class
  std::vector<Sums> replicated_;   // and data set after data set
  PredictiveCheck result_;
};

}  // namespace

std::vector<std::string> check_statistics() {
  std::vector<std::string> names;
  for (const Statistic& statistic : statistics) names.emplace_back(statistic.name);
  return names;
}

double CheckedStatistic::p() const {
  double above = 0;
  for (const double x : replicated) above += x > observed ? 1 : x == observed ? 0.5 : 0;
  return above / static_cast<double>(replicated.size());
}

std::optional<PredictiveCheck> predictive_check(const FittedRegression& fitted, const Table& data,
                                                const StoredDraws& draws, const CheckOptions& options) {
  if (options.replicates < 1) throw UsageError("`replicates` is 0: at least one data set must be made up");
  return Check(fitted, data, draws, options).run();
}

}  // namespace onward::glm
