#include "regression_run.hpp"

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/model/registry.hpp"
#include "onward/record/earlier.hpp"
#include "progress_bar.hpp"
#include "run_notes.hpp"

namespace onward::app {

RegressionRun read_regression_run(const std::filesystem::path& folder, bool own_data, bool quiet) {
  const nlohmann::ordered_json run = read_run_json(folder);
  require_posterior_draws(folder, run);
  const auto files = files_of_draws(folder);
  RegressionRun result;
  try {
    const auto& model = run.at("model");
    result.fitted = glm::FittedRegression::from_json(model);
    if (own_data) check_files(ModelSpec::from_json(model));
  } catch (const UsageError& problem) {  // of the file, and not of what was asked for
    throw Error(fmt::format("{}: {} (the file was changed, or another version of onward made it)",
                            RunFolder::open(folder).run_json().string(), problem.what()));
  }
  ProgressBar bar(quiet);
  result.draws = read_stored_draws(
      files, [&](std::size_t done) { bar.show_pieces(done, files.size(), "reading: ", "files"); });
  bar.clear();
  if (!quiet) print_doubts(folder, result.draws);
  return result;
}

Table read_as_fitted(const glm::FittedRegression& fitted, const std::string& file) {
  return read_table(file.empty() ? fitted.data : file, fitted.table);
}

}  // namespace onward::app
