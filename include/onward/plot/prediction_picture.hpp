#pragma once
// What a model says over one input: a line, a band about it, and the data.

#include <string>
#include <vector>

namespace onward::plot {

/// Predictions at some x, in any order: a middle and the two ends of a band.
struct PredictionBand {
  std::vector<double> x = {}, middle = {}, low = {}, high = {};
  std::string label = "mean";       ///< of the line
  std::string band_label = "band";  ///< such as "5% to 95%"
};

/// Draws the band, the line and the points (data_x, data_y), of which there may be none. The ending of `path`
/// chooses .svg or .png. Throws UsageError for lengths that do not fit, Error if there is nothing to draw.
void prediction_picture(const std::string& path, const PredictionBand& band,
                        const std::vector<double>& data_x = {}, const std::vector<double>& data_y = {},
                        const std::string& y_label = "y");

}  // namespace onward::plot
