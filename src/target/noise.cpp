#include "onward/target/noise.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/simd/elementary.hpp"
#include "onward/simd/special.hpp"

namespace onward {

Noise normal_noise(double sd) { return {.scale = {sd}}; }
Noise normal_noise(std::vector<double> sd) { return {.scale = std::move(sd)}; }
Noise normal_noise(std::string_view parameter, std::vector<std::size_t> which) {
  return {.parameter = std::string(parameter), .which = std::move(which)};
}
Noise student_t_noise(double degrees, double scale) { return {.degrees = degrees, .scale = {scale}}; }
Noise student_t_noise(double degrees, std::vector<double> scale) {
  return {.degrees = degrees, .scale = std::move(scale)};
}
Noise student_t_noise(double degrees, std::string_view parameter, std::vector<std::size_t> which) {
  return {.degrees = degrees, .parameter = std::string(parameter), .which = std::move(which)};
}

NoisyData::NoisyData(std::vector<double> data, Noise noise, const std::vector<std::string>& names,
                     std::size_t inputs, std::size_t outputs)
    : data_(std::move(data)), noise_(std::move(noise)) {
  if (data_.size() != outputs)
    throw UsageError(
        fmt::format("`data` has {} numbers, but the forward map has {} outputs: give one for each",
                    data_.size(), outputs));
  for (std::size_t i = 0; i < data_.size(); ++i)
    if (!std::isfinite(data_[i]))
      throw UsageError(fmt::format("datum {} is {}: leave data that are missing out, and their outputs too",
                                   i + 1, data_[i]));
  if (names.size() < inputs)
    throw UsageError(
        fmt::format("the forward map has {} inputs, but the parameters have {} numbers: declare "
                    "one for each input, and those of the noise after them",
                    inputs, names.size()));
  if (!(noise_.degrees > 0))
    throw UsageError(
        fmt::format("the noise has {} `degrees` of freedom: they must be above 0", noise_.degrees));

  constexpr double half_log_two_pi = 0.91893853320467274178, log_pi = 1.1447298858494001741;
  const double nu = noise_.degrees;
  normaliser_ = normal()
                    ? -half_log_two_pi
                    : simd::lgamma(0.5 * (nu + 1)) - simd::lgamma(0.5 * nu) - 0.5 * (simd::log(nu) + log_pi);

  if (noise_.parameter.empty())
    settle_scale();
  else
    settle_parameter(names, inputs);
}

void NoisyData::settle_scale() {
  if (noise_.scale.size() == 1) noise_.scale.assign(data_.size(), noise_.scale[0]);
  if (noise_.scale.size() != data_.size())
    throw UsageError(
        fmt::format("the noise has {} numbers as its `scale`, but there are {} data: give 1 or {}",
                    noise_.scale.size(), data_.size(), data_.size()));
  for (const double s : noise_.scale) {
    if (!(s > 0 && std::isfinite(s)))
      throw UsageError(fmt::format("the noise has the `scale` {}: it must be above 0 and finite", s));
    inverse_.push_back(1 / s);
    log_.push_back(simd::log(s));
  }
}

void NoisyData::settle_parameter(const std::vector<std::string>& names, std::size_t inputs) {
  const auto& name = noise_.parameter;
  const auto is_entry = [&](const std::string& other) {
    return other == name || other.starts_with(name + ".");
  };
  const auto first = std::find_if(names.begin(), names.end(), is_entry);
  if (first == names.end())
    throw UsageError(
        fmt::format("the noise has the `parameter` '{}', which is not declared: declare it, such as "
                    ".positive(\"{}\")",
                    name, name));
  place_ = static_cast<std::size_t>(first - names.begin());
  entries_ = static_cast<std::size_t>(std::count_if(first, names.end(), is_entry));
  if (place_ < inputs)
    throw UsageError(
        fmt::format("the noise has the `parameter` '{}', which is one of the {} inputs of the forward map: "
                    "declare it after these",
                    name, inputs));
  auto& which = noise_.which;
  if (which.empty() && entries_ > 1) {
    if (entries_ != data_.size())
      throw UsageError(
          fmt::format("the noise's `parameter` '{}' has {} entries and there are {} data: say by "
                      "`which` whose scale each entry is",
                      name, entries_, data_.size()));
    for (std::size_t i = 0; i < entries_; ++i) which.push_back(i);
  }
  if (!which.empty() && which.size() != data_.size())
    throw UsageError(fmt::format("the noise has {} numbers in `which`, but there are {} data", which.size(),
                                 data_.size()));
  for (const std::size_t entry : which)
    if (entry >= entries_)
      throw UsageError(fmt::format("the noise has {} in `which`, but '{}' has {} entries, counted from 0",
                                   entry, name, entries_));
}

double NoisyData::log_density(double z2, double log_scale) const {
  const double nu = noise_.degrees;
  return normaliser_ - log_scale - (normal() ? 0.5 * z2 : 0.5 * (nu + 1) * simd::log1p(z2 / nu));
}

Jet NoisyData::jet(VectorView outputs, VectorView tangent, VectorView x, VectorView dx, Order order) const {
  const bool known = noise_.parameter.empty();
  const double nu = noise_.degrees;
  // What E[slope²] has of the location and of the logarithm of the scale; 1 and 2 for normal noise.
  const double location = normal() ? 1 : (nu + 1) / (nu + 3), spread = normal() ? 2 : 2 * nu / (nu + 3);
  Jet jet;
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const double scale = known ? 0 : x[scale_at(i)];
    const double inverse = known ? inverse_[i] : 1 / scale;
    const double z = (data_[i] - outputs[i]) * inverse, z2 = z * z;
    jet.value += log_density(z2, known ? log_[i] : simd::log(scale));
    if (order == Order::value) continue;
    const double weight = normal() ? 1 : (nu + 1) / (nu + z2);
    const double moves = tangent[i] * inverse, widens = known ? 0 : dx[scale_at(i)] * inverse;
    jet.slope += weight * z * moves + (weight * z2 - 1) * widens;
    if (order == Order::curvature) jet.curvature -= location * moves * moves + spread * widens * widens;
  }
  return jet;
}

double NoisyData::sensitivity(VectorView outputs, VectorView x, std::span<double> by_output,
                              std::span<double> by_parameter) const {
  const bool known = noise_.parameter.empty();
  const double nu = noise_.degrees;
  double value = 0;
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const double scale = known ? 0 : x[scale_at(i)];
    const double inverse = known ? inverse_[i] : 1 / scale;
    const double z = (data_[i] - outputs[i]) * inverse, z2 = z * z;
    const double weight = normal() ? 1 : (nu + 1) / (nu + z2);
    value += log_density(z2, known ? log_[i] : simd::log(scale));
    by_output[i] = weight * z * inverse;
    if (!known) by_parameter[scale_at(i)] += (weight * z2 - 1) * inverse;
  }
  return value;
}

void NoisyData::log_likelihood(VectorView outputs, VectorView x, std::span<double> out) const {
  const bool known = noise_.parameter.empty();
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const double scale = known ? 0 : x[scale_at(i)];
    const double z = (data_[i] - outputs[i]) * (known ? inverse_[i] : 1 / scale);
    out[i] = log_density(z * z, known ? log_[i] : simd::log(scale));
  }
}

}  // namespace onward
