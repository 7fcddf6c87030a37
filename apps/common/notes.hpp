#pragma once
// What goes to stderr.

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "onward/diagnostics/summary.hpp"
#include "onward/io/stored_draws.hpp"
#include "onward/util/printable.hpp"
#include "terminal.hpp"

namespace onward::app {

/// Writes to stderr as it is. A run must not end because nobody can hear its notes: failures are passed over.
inline void write_to_stderr(const std::string& text) {
  [[maybe_unused]] const auto written = std::fwrite(text.data(), 1, text.size(), stderr);
}

/// Prints lines to stderr. What they quote of files and names must not steer the terminal, which gets them
/// broken between words; in a file a line stays a line.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  const std::string lines = printable(fmt::format(text, std::forward<Args>(args)...), true);
  write_to_stderr(isatty(STDERR_FILENO) != 0 ? wrapped(lines, columns_of(STDERR_FILENO)) : lines);
}

/// What the program's options are called in warnings.
inline const SettingWords option_words{.draws = "--draws",
                                       .warmup = "--warmup",
                                       .thin = "--thin",
                                       .sampler = "--sampler",
                                       .step_size = "--step-size",
                                       .four_chains = "--chains 4",
                                       .dense_metric = "--metric dense",
                                       .target_acceptance = "--target-acceptance",
                                       .max_depth = "--max-depth"};

/// The table as wide as stdout has room for: the first 50 parameters or all.
inline std::string table_for_stdout(const std::vector<ParameterSummary>& parameters, bool all) {
  return summary_table(
      parameters, {.max_rows = all ? std::size_t{0} : std::size_t{50}, .width = columns_of(STDOUT_FILENO)});
}

/// "1 chain", "4 chains".
inline std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// What a table leaves out of a run that was cut short: chains that had not begun, and the ends of longer
/// ones.
inline void print_uneven_chains(std::size_t all, std::size_t with_draws, std::size_t least,
                                std::size_t most) {
  if (with_draws < all) say("note: {} of {} chains have no draws and are left out\n", all - with_draws, all);
  if (least < most)
    say("note: chains have {} to {} draws; the first {} of each are used\n", least, most, least);
}

/// What is to be known of files of draws before anything that is made from them.
inline void print_notes_of_files(const StoredDraws& stored) {
  for (const auto& note : stored.notes) say("note: {}\n", note);
  print_uneven_chains(stored.all_chains, stored.chains, stored.draws, stored.longest);
}

}  // namespace onward::app
