#pragma once
// How a .npy file is known, for the readers that take other files too.

#include "input_file.hpp"

namespace onward::detail {

inline constexpr std::string_view npy_magic = "\x93NUMPY";
inline constexpr FileKind npy_kind{".npy file", "Write it anew with numpy.save"};

}  // namespace onward::detail
