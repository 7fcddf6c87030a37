#pragma once
// Programs as simulators: one line of JSON in, one line of JSON out (docs/simulators-outside.md).
//
//     auto model = onward::program("./simulate --fast");

#include <memory>
#include <string>
#include <vector>

#include "onward/simulator/simulator.hpp"

namespace onward {

struct ProgramOptions {
  double timeout = 60;  ///< seconds that an answer may take; a program that takes longer is started again
};

/// A program and its words; no shell reads them. Each connection has a process of its own, which is started
/// when it is first used and again when it has ended. Asks one what it is. Throws UsageError for words that
/// cannot be read, Error if there is no such program or it does not answer.
std::unique_ptr<Simulator> program(const std::string& command, const ProgramOptions& options = {});

/// The words of a command: separated by blanks, which belong to a word within '...' or "...". Throws
/// UsageError.
std::vector<std::string> command_words(const std::string& command);

}  // namespace onward
