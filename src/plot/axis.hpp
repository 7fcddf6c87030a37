#pragma once
// Where an axis begins and ends, and where its ticks go: numbers and labels only, nothing drawn.

#include <cstddef>
#include <string>
#include <vector>

#include "onward/plot/figure.hpp"

namespace onward::plot {

/// Larger numbers are skipped like infinities: the difference of two of them might be one.
inline constexpr double largest = 1e300;

struct Range {
  double low;
  double high;
  double width() const { return high - low; }
};

/// Can this number be shown on such an axis?
bool shown(double value, Scale scale);

/// Are the two ends as good as one number?
bool single(double low, double high);
/// Half the width of the range that is drawn around a single number.
double half_width_of_single(double value);

/// The range that the data given so far asks for, widened where it is empty or a single number.
class Extent {
 public:
  explicit Extent(Scale scale) : scale_(scale) {}
  void add(double value);
  bool empty() const { return !(low_ <= high_); }
  /// With a margin of this part of the range at either end.
  Range range(double margin_low, double margin_high) const;

 private:
  Scale scale_;
  double low_ = 2 * largest;
  double high_ = -2 * largest;
};

/// The position of a value between the ends of the range, 0 to 1 within it.
double fraction(double value, Range range, Scale scale);

/// About `count` labelled ticks within the range, at round numbers.
std::vector<Tick> ticks(Range range, Scale scale, std::size_t count);

}  // namespace onward::plot
