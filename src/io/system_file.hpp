#pragma once
// The few operating system calls that the writers need, with errors that name the file, the reason and the
// remedy.

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace onward::detail {

/// Throws Error: "cannot <action> <path>: <the system's reason>. <what to try>".
[[noreturn]] void throw_system_error(std::string_view action, const std::filesystem::path& path, int error);

/// Opens for writing, creating the file; with `exclusive` it is an Error if it exists, else it is emptied.
int open_for_writing(const std::filesystem::path& path, bool exclusive);

/// Writes all bytes, also after interruptions and short writes. Returns how many were written; if that is not
/// all of them, errno tells why.
std::size_t write_fully(int file, std::string_view bytes);

/// Waits until a file's bytes are on disk.
void sync_file(int file, const std::filesystem::path& path);

/// Waits until the names in a folder are on disk, where a file system can be asked for that.
void sync_folder(const std::filesystem::path& directory);

/// A whole file in memory.
std::string read_whole(const std::filesystem::path& path);

/// Makes or replaces a file with these bytes.
void write_whole(const std::filesystem::path& path, std::string_view bytes);

}  // namespace onward::detail
