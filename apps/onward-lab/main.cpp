// The second program: the paper's experiments and the benchmarks. `onward paper` and `onward bench` start it
// and leave it their name, so that it speaks in the words that were typed.

#include <filesystem>

#include "commands.hpp"

int main(int argc, char** argv) {
  using namespace onward::app;
  const std::string typed = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "";
  return run_program(
      argc, argv, typed == "onward" ? typed : "onward-lab",
      "The paper's experiments and the benchmarks of Onward.", [](CLI::App& app, Action& action) {
        app.footer(
            "Results go to stdout, progress and notes to stderr. `onward-lab paper funnel --help` and so "
            "on tell more.\n"
            "Exit codes: 0 done, 1 could not do it, 2 wrong usage, 130 interrupted.");
        add_bench(app, action);
        add_paper(app, action);
      });
}
