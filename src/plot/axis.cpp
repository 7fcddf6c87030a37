#include "axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace onward::plot {
namespace {

std::string with_minus(const std::string& number) {
  return number.starts_with('-') ? "\u2212" + number.substr(1) : number;
}

// 2.5e5 rather than 2.5e+05.
std::string scientific(double value, int digits) {
  const std::string number = fmt::format("{:.{}e}", value, digits);
  const std::size_t e = number.find('e');
  return with_minus(number.substr(0, e)) + "e" + with_minus(std::to_string(std::stoi(number.substr(e + 1))));
}

std::string power_of_ten(int exponent) {
  if (exponent >= -3 && exponent <= 4)
    return fmt::format("{:.{}f}", std::pow(10.0, exponent), std::max(0, -exponent));
  static const char* const raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                       "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text = exponent < 0 ? "10\u207b" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += raised[digit - '0'];
  return text;
}

std::vector<Tick> linear_ticks(Range range, std::size_t count) {
  // The finest of the steps 1, 2, 5, 10, ... that makes no more ticks than asked for, or the one before it
  // where that leaves a single tick, which would not tell the scale.
  const auto most = static_cast<double>(std::max<std::size_t>(count, 2));
  const double decade = std::pow(10.0, std::floor(std::log10((range.high - range.low) / most)));
  double step = decade;
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0}) {
    const double wider = factor * decade;
    const double made = std::floor(range.high / wider + 1e-9) - std::ceil(range.low / wider - 1e-9) + 1;
    if (made >= 2) step = wider;
    if (made <= most) break;
  }
  const double first = std::ceil(range.low / step - 1e-9);
  const double last = std::floor(range.high / step + 1e-9);
  const double widest = std::max(std::abs(first), std::abs(last)) * step;
  const int step_decade = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  const bool plain = widest < 1e6 && step_decade >= -5;
  std::vector<Tick> result;
  for (double k = first; k <= last; ++k) {
    const double value = k * step;
    std::string label;
    if (k == 0) {
      label = "0";
    } else if (plain) {
      label = with_minus(fmt::format("{:.{}f}", value, std::max(0, -step_decade)));
    } else {
      const int own_decade = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
      label = scientific(value, std::clamp(own_decade - step_decade, 0, 15));
    }
    result.push_back({value, label});
    if (k + 1 == k) break;  // the range is narrower than the spacing of doubles
  }
  return result;
}

std::vector<Tick> log_ticks(Range range, std::size_t count) {
  const double low = std::log10(range.low);
  const double high = std::log10(range.high);
  const int first = static_cast<int>(std::ceil(low - 1e-9));
  const int last = static_cast<int>(std::floor(high + 1e-9));
  const int decades = last - first + 1;
  // Less than two whole decades: powers of ten alone would leave the axis without numbers.
  if (decades < 2) {
    if (high - low < 0.5) return linear_ticks(range, count);
    std::vector<Tick> result;
    for (int decade = first - 1; decade <= last; ++decade) {
      for (int digit = 1; digit <= 9; ++digit) {
        const double value = digit * std::pow(10.0, decade);
        if (value < range.low * (1 - 1e-9) || value > range.high * (1 + 1e-9)) continue;
        const bool labelled = digit == 1 || digit == 2 || digit == 5;
        result.push_back({value, labelled ? fmt::format("{:g}", value) : ""});
      }
    }
    return result;
  }
  const int stride =
      std::max(1, (decades + static_cast<int>(count) - 1) / std::max(1, static_cast<int>(count)));
  std::vector<Tick> result;
  for (int decade = first - 1; decade <= last; ++decade) {
    const bool labelled = decade % stride == 0;
    if (decade >= first && (stride == 1 || labelled)) {
      result.push_back({std::pow(10.0, decade), labelled ? power_of_ten(decade) : ""});
    }
    for (int digit = 2; digit <= 9 && stride == 1; ++digit) {
      const double value = digit * std::pow(10.0, decade);
      if (value >= range.low && value <= range.high) result.push_back({value, ""});
    }
  }
  return result;
}

}  // namespace

bool single(double low, double high) {
  return high - low <= std::max(1e-12 * std::max(std::abs(low), std::abs(high)), 1 / largest);
}

double half_width_of_single(double value) { return std::abs(value) < 1e-290 ? 0.5 : 0.05 * std::abs(value); }

bool shown(double value, Scale scale) {
  return std::abs(value) <= largest && (scale == Scale::linear || value >= 1 / largest);
}

void Extent::add(double value) {
  if (!shown(value, scale_)) return;
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
}

Range Extent::range(double margin_low, double margin_high) const {
  if (empty()) return scale_ == Scale::log ? Range{1, 10} : Range{0, 1};
  if (scale_ == Scale::log) {
    double low = std::log10(low_);
    double high = std::log10(high_);
    if (high - low < 1e-9) {
      low -= 0.5;
      high += 0.5;
    }
    const double width = high - low;
    const auto power = [](double exponent) { return std::pow(10.0, std::clamp(exponent, -305.0, 305.0)); };
    return {power(low - margin_low * width), power(high + margin_high * width)};
  }
  double low = low_;
  double high = high_;
  if (single(low, high)) {
    const double room = half_width_of_single(low);
    low -= room;
    high += room;
  }
  const double width = high - low;
  return {low - margin_low * width, high + margin_high * width};
}

double fraction(double value, Range range, Scale scale) {
  if (scale == Scale::log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

std::vector<Tick> ticks(Range range, Scale scale, std::size_t count) {
  return scale == Scale::log ? log_ticks(range, count) : linear_ticks(range, count);
}

}  // namespace onward::plot
