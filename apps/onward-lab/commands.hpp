#pragma once
// The commands of the program. Each adds itself to the command line and sets what is to be run.

#include "program.hpp"

namespace onward::app {

void add_bench(CLI::App& app, Action& action);
void add_paper(CLI::App& app, Action& action);

}  // namespace onward::app
