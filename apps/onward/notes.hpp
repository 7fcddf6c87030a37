#pragma once
// Notes that several commands print on stderr.

#include <cstddef>

#include <fmt/format.h>

namespace onward::app {

/// What a table leaves out of a run that was cut short: chains that had not begun, and the ends of longer
/// ones.
inline void print_uneven_chains(std::size_t all, std::size_t with_draws, std::size_t least,
                                std::size_t most) {
  if (with_draws < all)
    fmt::print(stderr, "note: {} of {} chains have no draws and are left out\n", all - with_draws, all);
  if (least < most)
    fmt::print(stderr, "note: chains have {} to {} draws; the first {} of each are used\n", least, most,
               least);
}

}  // namespace onward::app
