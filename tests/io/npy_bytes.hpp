#pragma once
// .npy files as NumPy writes them, and as it would not.

#include <string>
#include <vector>

namespace onward::testing {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       int version = 1, const std::string& fortran = "False") {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }   \n";
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  file += static_cast<char>(header.size());
  file += '\0';
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

}  // namespace onward::testing
