#pragma once
// What to know of a run on file before its draws are used for something.

#include <filesystem>
#include <string>

#include "onward/io/run_status.hpp"
#include "onward/io/stored_draws.hpp"

namespace onward::app {

/// A note if the run is not complete. `draws`: that each chain has.
void print_status(const RunStatus& status, std::size_t draws);

/// Notes on the files of draws, a note if the run is not complete, and a warning if its chains have not
/// mixed.
void print_doubts(const std::filesystem::path& folder, const StoredDraws& stored);

}  // namespace onward::app
