#pragma once
// Shows how far a run is on stderr: a live bar on a terminal, plain lines now and then otherwise.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "onward/run/run.hpp"

namespace onward::app {

class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `before`: words that say what is being done, if not the run itself.
  void show(const Progress& progress, const std::string& before = "");
  /// For work that is counted in pieces; time is taken since the bar was made.
  void show_pieces(std::size_t done, std::size_t total, const std::string& before = "",
                   const std::string& pieces = "pieces");
  /// Work of which nobody knows how much there will be: how long it has taken so far.
  void show_speed(const Progress& progress, const std::string& what);
  /// For items one after another, of which `done` are finished and a share of the next.
  void show_shares(std::size_t done, double share, std::size_t total);
  /// A line that stays.
  void note(const std::string& line);
  void clear();  ///< takes the bar away before something else is printed

 private:
  /// The first wording that fits the line, the longest coming first.
  void draw(double share, double seconds, const std::vector<std::string>& wordings);

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool quiet_, terminal_;
  bool shown_ = false;
  double next_ = 2;  // seconds; nothing is shown of shorter runs
};

/// "950 ms", "12 s", "3 min 20 s", "2 h 5 min".
std::string duration(double seconds);

}  // namespace onward::app
