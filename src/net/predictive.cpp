#include "onward/net/predictive.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "onward/diagnostics/calibration.hpp"
#include "onward/error.hpp"

namespace onward::net {

void softmax(std::span<const float> outputs, std::size_t classes, std::span<double> out) {
  for (std::size_t begin = 0; begin < outputs.size(); begin += classes) {
    const auto row = outputs.subspan(begin, classes);
    const auto to = out.subspan(begin, classes);
    const double most = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double total = 0;
    for (std::size_t k = 0; k < classes; ++k) total += to[k] = std::exp(static_cast<double>(row[k]) - most);
    for (double& p : to) p /= total;
  }
}

Predictive::Predictive(bool classes, std::size_t rows, std::size_t width, std::optional<Answers> answers)
    : classes_(classes),
      rows_(rows),
      width_(width),
      answers_(std::move(answers)),
      sums_(rows * width),
      squares_(rows * width) {
  if (answers_ &&
      (answers_->count() != rows || answers_->width() != width || answers_->are_labels() != classes))
    throw UsageError(fmt::format("there are {} rows of {} outputs to predict, and {} answers of {}", rows,
                                 width, answers_->count(), answers_->width()));
  if (!classes_ && answers_) {
    most_.assign(rows, -std::numeric_limits<double>::infinity());
    weight_.resize(rows);
  }
}

double Predictive::log_density(std::size_t row, std::span<const float> outputs, double sigma) const {
  double squares = 0;
  for (std::size_t j = 0; j < width_; ++j) {
    const double z =
        static_cast<double>(answers_->row(row)[j]) - static_cast<double>(outputs[row * width_ + j]);
    squares += z * z;
  }
  return -0.5 * squares / (sigma * sigma) -
         static_cast<double>(width_) * (std::log(sigma) + 0.5 * std::log(2 * std::numbers::pi));
}

namespace {

/// weight * exp(most) += w * exp(m), without overflow.
void add_exponential(double& most, double& weight, double m, double w) {
  if (m <= most) {
    weight += w * std::exp(m - most);
  } else {
    weight = w + weight * std::exp(most - m);
    most = m;
  }
}

}  // namespace

void Predictive::add(std::span<const float> outputs, double sigma) {
  std::vector<double> values(outputs.begin(), outputs.end());
  if (classes_) softmax(outputs, width_, values);
  if (first_.empty()) first_ = values;
  ++draws_;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double away = values[i] - first_[i];  // so that squares of nearly equal values do not cancel
    sums_[i] += away;
    squares_[i] += away * away;
  }
  for (std::size_t row = 0; row < most_.size(); ++row)
    add_exponential(most_[row], weight_[row], log_density(row, outputs, sigma), 1);
}

void Predictive::transfer(Archive& archive) {
  archive(draws_, sums_, squares_, first_, most_, weight_);
  if (sums_.size() != rows_ * width_) throw Error("the saved predictions are of other rows");
}

void Predictive::add(const Predictive& other) {
  if (other.draws_ == 0) return;
  if (first_.empty()) first_ = other.first_;
  draws_ += other.draws_;
  const auto n = static_cast<double>(other.draws_);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const double shift = other.first_[i] - first_[i];
    sums_[i] += other.sums_[i] + n * shift;
    squares_[i] += other.squares_[i] + 2 * shift * other.sums_[i] + n * shift * shift;
  }
  for (std::size_t row = 0; row < most_.size(); ++row)
    add_exponential(most_[row], weight_[row], other.most_[row], other.weight_[row]);
}

std::vector<double> Predictive::mean() const {
  std::vector<double> result(sums_.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = draws_ == 0 ? NAN : first_[i] + sums_[i] / static_cast<double>(draws_);
  return result;
}

std::vector<double> Predictive::sd() const {
  const auto n = static_cast<double>(draws_);
  std::vector<double> result(sums_.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] =
        draws_ < 2 ? NAN : std::sqrt(std::max(0.0, (squares_[i] - sums_[i] * sums_[i] / n) / (n - 1)));
  return result;
}

Scores Predictive::scores() const {
  if (!answers_ || draws_ == 0) throw Error("there are no answers or no draws: nothing to score");
  Scores scores;
  const std::vector<double> means = mean();
  const auto n = static_cast<double>(rows_);
  if (classes_) {
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < rows_; ++i) labels.push_back(static_cast<std::uint8_t>(answers_->label(i)));
    const ClassScores judged = judge_classes(means, labels, width_);
    scores.nll = judged.nll;
    scores.accuracy = judged.accuracy;
    scores.ece = judged.ece;
    return scores;
  }
  double squares = 0;
  for (std::size_t row = 0; row < rows_; ++row) {
    scores.nll -= (most_[row] + std::log(weight_[row] / static_cast<double>(draws_))) / n;
    for (std::size_t j = 0; j < width_; ++j) {
      const double off = means[row * width_ + j] - static_cast<double>(answers_->row(row)[j]);
      squares += off * off;
    }
  }
  scores.mse = squares / (n * static_cast<double>(width_));
  return scores;
}

PredictionView::PredictionView(NetworkPosterior posterior, Inputs inputs)
    : posterior_(std::move(posterior)),
      inputs_(std::move(inputs)),
      outputs_(inputs_.count() * posterior_.network().layout.output().size()) {
  const Shape& wanted = posterior_.network().layout.input();
  if (inputs_.shape() != wanted)
    throw UsageError(fmt::format("the inputs are {} and the network takes {}", to_string(inputs_.shape()),
                                 to_string(wanted)));
}

std::vector<std::string> PredictionView::names() const {
  const bool classes = posterior_.data().answers.are_labels();
  const std::size_t width = posterior_.network().layout.output().size();
  std::vector<std::string> names;
  for (std::size_t row = 1; row <= inputs_.count(); ++row) {
    if (!classes && width == 1) names.push_back(fmt::format("f.{}", row));
    for (std::size_t j = 0; (classes || width > 1) && j < width; ++j)
      names.push_back(fmt::format("{}.{}.{}", classes ? "p" : "f", row, j + 1));
  }
  if (posterior_.samples_sigma()) names.emplace_back("sigma");
  return names;
}

void PredictionView::constrain(VectorView theta, std::span<double> out) const {
  posterior_.predict(theta, inputs_, outputs_);
  if (posterior_.data().answers.are_labels())
    softmax(outputs_, posterior_.network().layout.output().size(), out);
  else
    std::copy(outputs_.begin(), outputs_.end(), out.begin());
  if (posterior_.samples_sigma()) out.back() = std::exp(theta.back());
}

}  // namespace onward::net
