#pragma once
// The draws of a run in memory, for what otherwise reads them from files.

#include "onward/io/stored_draws.hpp"
#include "onward/run/run.hpp"

namespace onward {

/// Throws Error if there are none. The run must stay until they are no longer needed.
StoredDraws draws_of(const Run& run);

}  // namespace onward
