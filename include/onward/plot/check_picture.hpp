#pragma once
// Posterior predictive checks as a picture: how the data are distributed beside data sets that a model made
// up, and where statistics of the data lie among those of the made-up ones.

#include <string>
#include <vector>

namespace onward::plot {

/// The rows that one panel shows.
struct CheckedValues {
  std::string title = {};
  std::vector<double> y = {};
  std::vector<std::vector<double>> replicated = {};  ///< by data set; of many, densities show 50
};

struct StatisticHistogram {
  std::string name;
  double observed = 0;
  std::vector<double> replicated = {};
  std::string heading = {};  ///< such as "p = 0.31"
};

/// One statistic over the levels of a group: the data's, and the interval of the replicated ones.
struct StatisticByLevel {
  std::string name;
  std::vector<double> observed = {}, low = {}, high = {};
};

struct CheckPicture {
  std::string response;
  bool bars = false;                      ///< for whole numbers, instead of densities
  std::vector<std::string> classes = {};  ///< what the numbers 0, 1, ... stand for, if for anything
  std::vector<CheckedValues> distributions = {};
  std::vector<StatisticHistogram> statistics = {};
  std::vector<std::string> levels = {};
  std::vector<StatisticByLevel> by_level = {};
};

/// The ending of `path` chooses .svg or .png. Throws UsageError for lengths that do not fit, Error if there
/// is nothing to draw.
void check_picture(const std::string& path, const CheckPicture& check);

}  // namespace onward::plot
