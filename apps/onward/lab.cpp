// `onward paper` and `onward bench` are commands of a second program, onward-lab. It takes this one's place:
// what it prints, how it ends and the signals it gets are its own.

#include <unistd.h>

#include <filesystem>

#include "commands.hpp"
#include "notes.hpp"
#include "onward/error.hpp"

namespace onward::app {
namespace {

constexpr const char* lab = "onward-lab";

struct LabCommand {
  const char *name, *description;
};
constexpr LabCommand lab_commands[] = {
    {"bench", "measure this machine: figures beside their peers (by onward-lab)"},
    {"paper", "the paper's experiments beside its published figures (by onward-lab)"}};

}  // namespace

bool belongs_to_lab(std::string_view command) {
  for (const auto& one : lab_commands)
    if (command == one.name) return true;
  return false;
}

void add_lab(CLI::App& app, Action& action) {
  for (const auto& one : lab_commands)
    app.add_subcommand(one.name, one.description)->callback([&action, name = std::string(one.name)] {
      action = [name]() -> int { throw UsageError(name + " must be the first word: onward " + name); };
    });
}

int start_lab(char** argv) {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  // Its argv[0] stays ours, by which it speaks of itself in the words that were typed.
  if (!folder.empty()) ::execv((folder / lab).c_str(), argv);
  ::execvp(lab, argv);
  say("onward: `onward {}` needs the program {}, which is neither in {} nor on PATH: build its target "
      "onward_lab, or "
      "install Onward again\n",
      argv[1], lab, folder.empty() ? "onward's folder" : folder.string());
  return failed;
}

}  // namespace onward::app
