#pragma once
// Getting a data set with the package manager that the user has. Files appear under their names when all of
// them were checked, and not before: whatever stops it leaves nothing half-done.

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "onward/data/data_set.hpp"

namespace onward {

struct FetchOptions {
  /// Told now and then, several times a second, what is being done.
  std::function<void(const std::string& doing)> progress;
  /// Once true, fetching stops soon.
  const std::atomic<bool>* stop = nullptr;
};

struct FetchReport {
  std::vector<std::string> fetched;   ///< names of the files that are new; empty if all were there and right
  std::vector<std::string> replaced;  ///< those of them that took the place of a wrong file
  bool stopped = false;               ///< then nothing was fetched
};

/// Sees to it that `folder` has all files of the data set. One that fetches at the same time is waited for.
/// Throws Error with what to do: a program is missing, it failed, a file is not what it should be, the folder
/// cannot be written to.
FetchReport fetch_data(const DataSet& set, const std::filesystem::path& folder,
                       const FetchOptions& options = {});

}  // namespace onward
