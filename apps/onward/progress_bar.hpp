#pragma once
// Shows how far a run is on stderr: a live bar on a terminal, plain lines now and then otherwise.

#include <string>

#include "onward/run/run.hpp"

namespace onward::app {

class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const Progress& progress);
  void clear();  ///< takes the bar away before something else is printed

 private:
  bool quiet_, terminal_;
  bool shown_ = false;
  double next_ = 2;  // seconds; nothing is shown of shorter runs
};

/// "950 ms", "12 s", "3 min 20 s", "2 h 5 min".
std::string duration(double seconds);

}  // namespace onward::app
