#pragma once
// What is expected over one predictor: lines with bands over a number, points with intervals over levels.

#include <string>
#include <vector>

namespace onward::plot {

struct EffectLine {
  std::string label = {};  ///< of the second predictor or the class; empty if there is one line alone
  std::vector<double> middle = {}, low = {}, high = {};
};

struct EffectPicture {
  std::string x_label, y_label;
  std::string heading = {};              ///< what the bands are, say
  std::vector<double> places = {};       ///< of a number
  std::vector<std::string> levels = {};  ///< of a factor, in place of them
  std::vector<EffectLine> lines = {};
};

/// The ending of `path` chooses .svg or .png. Throws UsageError for lengths that do not fit, Error if there
/// is nothing to draw.
void effect_picture(const std::string& path, const EffectPicture& effect);

}  // namespace onward::plot
