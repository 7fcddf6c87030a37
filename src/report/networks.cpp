// What a network predicts, for the page: a curve with its band or answers beside predictions, and whether
// what is said to be likely is as frequent as that.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "encode.hpp"
#include "parts.hpp"

namespace onward::report {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t most_points = 3000;

/// The rows that are shown of many.
std::vector<std::size_t> shown_rows(std::size_t rows) {
  const std::size_t size = std::min(rows, most_points);
  std::vector<std::size_t> some(size);
  for (std::size_t i = 0; i < size; ++i) some[i] = i * rows / size;
  return some;
}

std::vector<double> taken(const std::vector<double>& values, const std::vector<std::size_t>& rows) {
  std::vector<double> some;
  for (const std::size_t row : rows) some.push_back(values[row]);
  return some;
}

constexpr double from_mean = 1.6448536269514722;  // the 5% and 95% points of a normal

/// Over one input: mean, a band of draws, a band that has the noise in it as well, and the data.
ordered_json curve_json(const PredictedRows& rows, std::optional<double> sigma) {
  std::vector<std::size_t> order(rows.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return rows.x[row]; });
  std::vector<double> x, middle, low, high, low_noise, high_noise;
  for (const std::size_t row : order) {
    const std::size_t entry = rows.classes ? 2 * row + 1 : row;  // of two classes the second
    const double mean = rows.mean[entry], sd = rows.sd.empty() ? 0 : rows.sd[entry];
    const auto at = [&](double away) {
      const double value = rows.y_mean + rows.y_sd * (mean + away);
      return rows.classes ? std::clamp(value, 0.0, 1.0) : value;
    };
    x.push_back(rows.x[row]);
    middle.push_back(at(0));
    low.push_back(at(-from_mean * sd));
    high.push_back(at(from_mean * sd));
    if (sigma && !rows.classes) {
      low_noise.push_back(at(-from_mean * std::hypot(sd, *sigma)));
      high_noise.push_back(at(from_mean * std::hypot(sd, *sigma)));
    }
  }
  const auto data = shown_rows(rows.data_x.size());
  return {{"x", encoded(x)},
          {"middle", encoded(middle)},
          {"low", encoded(low)},
          {"high", encoded(high)},
          {"low_noise", encoded(low_noise)},
          {"high_noise", encoded(high_noise)},
          {"data_x", encoded(taken(rows.data_x, data))},
          {"data_y", encoded(taken(rows.data_y, data))}};
}

/// Answers beside what was predicted for them, of the first output.
ordered_json scatter_json(const PredictedRows& rows) {
  std::vector<double> mean, sd, answers;
  for (const std::size_t row : shown_rows(rows.rows)) {
    mean.push_back(rows.y_mean + rows.y_sd * rows.mean[row * rows.width]);
    sd.push_back(rows.sd.empty() ? 0 : rows.y_sd * rows.sd[row * rows.width]);
    answers.push_back(rows.y_mean + rows.y_sd * rows.answers[row * rows.width]);
  }
  return {{"mean", encoded(mean)}, {"sd", encoded(sd)}, {"answers", encoded(answers)}};
}

/// By the probability of the class that was thought most likely: how often it was the answer.
ordered_json class_calibration(const PredictedRows& rows) {
  constexpr std::size_t bins = 10;
  std::vector<double> count(bins, 0), right(bins, 0), said(bins, 0);
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto begin = rows.mean.begin() + static_cast<std::ptrdiff_t>(row * rows.width);
    const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(rows.width));
    const std::size_t bin = std::min(static_cast<std::size_t>(*best * bins), bins - 1);
    count[bin] += 1;
    said[bin] += *best;
    right[bin] += static_cast<double>(best - begin) == rows.answers[row] ? 1 : 0;
  }
  auto points = ordered_json::array();
  for (std::size_t b = 0; b < bins; ++b)
    if (count[b] > 0)
      points.push_back({{"said", said[b] / count[b]}, {"came", right[b] / count[b]}, {"rows", count[b]}});
  return points;
}

/// By the probability of a central interval: how many answers lie in theirs. The predictive distribution of a
/// row is taken as normal, with the spread between draws and the noise.
ordered_json number_calibration(const PredictedRows& rows, double sigma) {
  std::vector<double> inside;  // the probability of the interval that just reaches each answer
  for (std::size_t i = 0; i < rows.answers.size(); ++i) {
    const double sd = std::hypot(rows.sd.empty() ? 0 : rows.sd[i], sigma);
    inside.push_back(std::erf(std::abs(rows.answers[i] - rows.mean[i]) / sd / std::sqrt(2.0)));
  }
  std::ranges::sort(inside);
  auto points = ordered_json::array();
  for (int percent = 5; percent <= 95; percent += 5) {
    const double said = percent / 100.0;
    const auto below = std::ranges::upper_bound(inside, said) - inside.begin();
    points.push_back({{"said", said},
                      {"came", static_cast<double>(below) / static_cast<double>(inside.size())},
                      {"rows", inside.size()}});
  }
  return points;
}

}  // namespace

ordered_json predictions_json(const PredictedRows& rows, std::optional<double> sigma,
                              const ordered_json& summary) {
  ordered_json json{{"classes", rows.classes}, {"training", rows.training}, {"rows", rows.rows}};
  if (summary.is_object() && summary.contains("predictions")) json["scores"] = summary.at("predictions");
  if (rows.mean.empty()) return json;
  if (!rows.x.empty()) json["curve"] = curve_json(rows, sigma);
  if (rows.answers.empty()) return json;
  if (rows.classes)
    json["calibration"] = class_calibration(rows);
  else {
    if (rows.x.empty()) json["scatter"] = scatter_json(rows);
    if (sigma) json["calibration"] = number_calibration(rows, *sigma);
  }
  return json;
}

}  // namespace onward::report
