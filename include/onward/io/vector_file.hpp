#pragma once
// Vectors in files that others make too: a JSON array, or NumPy's .npy.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

/// Reads a vector of finite numbers: .npy (1-D, or 2-D with one row or column), else a JSON
/// array, either of them also gzipped. Throws Error naming the index of an entry that is NaN or infinite. The
/// caller checks the length; more than `most` entries are an Error, and so that a small file cannot unfold to
/// fill the memory, gzipped JSON may have 64 characters for each of them.
std::vector<double> read_vector(const std::filesystem::path& path, std::size_t most = 100'000'000);

/// A vector of finite numbers that is written out, as a JSON array; `name` is for messages.
std::vector<double> parse_vector(const std::string& name, std::string_view text);

/// Writes a vector so that reading gives the same bits: .npy ("<f8") by its name, else a JSON array.
void write_vector(const std::filesystem::path& path, std::span<const double> values);

}  // namespace onward
