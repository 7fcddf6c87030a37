#pragma once
// Histograms of ranks, one panel for each parameter, over the band that uniform ranks stay in.

#include <cstddef>
#include <string>
#include <vector>

namespace onward::plot {

struct RankPanel {
  std::string name;
  std::vector<std::size_t> counts;  ///< by bins of equal width
  bool within = true;
};

/// At most 24 panels: those that are outside of the band come first. The ending of `path` chooses .svg or
/// .png. Throws Error if there is nothing to draw.
void rank_picture(const std::string& path, std::vector<RankPanel> panels, double low, double high);

}  // namespace onward::plot
