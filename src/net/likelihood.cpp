#include "likelihood.hpp"

#include <algorithm>
#include <cmath>

#include "onward/simd/elementary.hpp"

namespace onward::net {
namespace {

/// log softmax at the label. Exponentials are taken of differences to the largest output.
Sums softmax_row(std::size_t classes, std::size_t label, const Stack& z, std::size_t at) {
  const float* value = z.part(0) + at;
  const double top = *std::max_element(value, value + classes);
  double total = 0, slope = 0, square = 0, curvature = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    const double weight = simd::exp(value[k] - top);
    total += weight;
    if (z.parts < 2) continue;
    const double first = z.part(1)[at + k];
    slope += weight * first;
    square += weight * first * first;
    if (z.parts > 2) curvature += weight * 2 * z.part(2)[at + k];
  }
  Sums sums{value[label] - top - simd::log(total), 0, 0};
  if (z.parts > 1) {
    slope /= total;
    sums.slope = z.part(1)[at + label] - slope;
    sums.curvature = slope * slope - square / total;
  }
  if (z.parts > 2) sums.curvature += 2 * z.part(2)[at + label] - curvature / total;
  return sums;
}

Sums squares_row(std::size_t width, const float* y, const Stack& z, std::size_t at) {
  Sums sums;
  for (std::size_t k = 0; k < width; ++k) {
    const double r = static_cast<double>(y[k]) - z.part(0)[at + k];
    sums.value += r * r;
    if (z.parts < 2) continue;
    const double slope = z.part(1)[at + k];
    sums.slope += r * slope;
    sums.curvature -= slope * slope;
    if (z.parts > 2) sums.curvature += 2 * r * z.part(2)[at + k];
  }
  return sums;
}

}  // namespace

Sums likelihood_sums(const Answers& answers, std::size_t first, std::size_t rows, const Stack& outputs) {
  Sums sums;
  const std::size_t width = answers.width();
  for (std::size_t i = 0; i < rows; ++i)
    sums += answers.are_labels() ? softmax_row(width, answers.label(first + i), outputs, i * width)
                                 : squares_row(width, answers.row(first + i), outputs, i * width);
  return sums;
}

double likelihood_backward(const Answers& answers, std::size_t first, std::size_t rows, const float* outputs,
                           float* by_outputs) {
  double sum = 0;
  const std::size_t width = answers.width();
  for (std::size_t i = 0; i < rows; ++i, outputs += width, by_outputs += width) {
    if (!answers.are_labels()) {
      for (std::size_t k = 0; k < width; ++k) {
        const float r = answers.row(first + i)[k] - outputs[k];
        by_outputs[k] = r;
        sum += static_cast<double>(r) * r;
      }
      continue;
    }
    const std::size_t label = answers.label(first + i);
    const double top = *std::max_element(outputs, outputs + width);
    double total = 0;
    for (std::size_t k = 0; k < width; ++k) total += simd::exp(outputs[k] - top);
    for (std::size_t k = 0; k < width; ++k)
      by_outputs[k] = static_cast<float>((k == label ? 1.0 : 0.0) - simd::exp(outputs[k] - top) / total);
    sum += outputs[label] - top - simd::log(total);
  }
  return sum;
}

}  // namespace onward::net
