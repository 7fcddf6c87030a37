#pragma once
// What is said when a table has no column of some name.

#include <string>
#include <string_view>
#include <vector>

namespace onward::detail {

/// Throws UsageError with the nearest name or, of a small table, all names.
[[noreturn]] void fail_unknown_column(std::string_view source, std::string_view name,
                                      const std::vector<std::string>& known);

}  // namespace onward::detail
