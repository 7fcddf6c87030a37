#pragma once
// How much room a line has, and text that is made to fit it.

#include <cstddef>
#include <string>
#include <string_view>

namespace onward::app {

/// The columns of the terminal that a descriptor (of stdout, say) belongs to: $COLUMNS if that is a number,
/// else what the terminal says; 80 if there is none.
std::size_t columns_of(int descriptor);

/// The text with lines broken between words where they would be wider than `width`. What follows a break is
/// indented by two more than its line; words that are wider than that are left whole.
std::string wrapped(std::string_view text, std::size_t width);

/// The same for text that begins in the column `indent`: all lines but the first are indented by that.
std::string wrapped_at(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace onward::app
