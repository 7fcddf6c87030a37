#pragma once
// A run's folder as what a report is made of.

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "onward/report/report.hpp"

namespace onward::report {

struct ReadOptions {
  bool checks = true;       ///< of regressions: effects, predictive checks and cross-validation
  std::size_t threads = 0;  ///< 0: as many as there are cores
  const std::atomic<bool>* stop = nullptr;  ///< set it, and what is not done yet is left out
  /// Hears on the calling thread what is being done, in words such as "reading draws".
  std::function<void(const std::string& what)> progress = {};
};

/// Throws Error for a folder that is not there, is damaged or has no draws. A model that cannot be built
/// again (its data have changed, say) costs the pictures that need it, and the page says why.
Input read_folder(const std::filesystem::path& folder, const ReadOptions& options = {});

/// What a regression's draws say of its data; `data` are those that it was fitted to.
Regression describe_regression(const glm::FittedRegression& fitted, const Table& data,
                               const StoredDraws& draws, const ReadOptions& options = {});

}  // namespace onward::report
