#pragma once
// Vectors in files that others make too: a JSON array, or NumPy's .npy.

#include <filesystem>
#include <span>
#include <vector>

namespace onward {

/// Reads a vector of finite numbers: .npy (1-D, or 2-D with one row or column), else a JSON
/// array. Throws Error naming the index of an entry that is NaN or infinite. The caller checks the length.
std::vector<double> read_vector(const std::filesystem::path& path);

/// Writes a vector so that reading gives the same bits: .npy ("<f8") by its name, else a JSON array.
void write_vector(const std::filesystem::path& path, std::span<const double> values);

}  // namespace onward
