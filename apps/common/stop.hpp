#pragma once
// How a program is told to stop: Ctrl-C, SIGTERM, or a terminal that is closed.

#include <atomic>

namespace onward::app {

/// From here on such a signal only sets the flag that is returned, and the work ends in good order. A second
/// one ends the program at once. What nohup or a shell has the program ignore stays ignored.
const std::atomic<bool>& stop_when_told();

/// From here on such a signal ends the program at once again: nothing is left that could be lost.
void end_when_told();

}  // namespace onward::app
