#pragma once
// The commands of the program. Each adds itself to the command line and sets what is to be run.

#include <functional>

#include <CLI/CLI.hpp>

namespace onward::app {

/// What a parsed command does; the result is the program's exit code.
using Action = std::function<int()>;

void add_sample(CLI::App& app, Action& action);
void add_evaluate(CLI::App& app, Action& action);
void add_summary(CLI::App& app, Action& action);
void add_lists(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_paper(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);

enum ExitCode { done = 0, failed = 1, wrong_usage = 2, interrupted = 130 };

}  // namespace onward::app
