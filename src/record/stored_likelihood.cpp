#include "onward/record/stored_likelihood.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/model/model.hpp"
#include "onward/model/registry.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/run_draws.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Outcomes, and what says how much they count: the log likelihoods of two models can be compared only if
/// these are the same.
bool belongs_to_outcomes(const DataArray& array) {
  return array.role == DataArray::Role::observed || array.shape.name == "trials" ||
         array.shape.name == "weights";
}

std::optional<std::uint64_t> hash_of_outcomes(const Model& model) {
  if (std::ranges::none_of(model.data,
                           [](const DataArray& array) { return array.role == DataArray::Role::observed; }))
    return std::nullopt;
  // Fowler, Noll and Vo's, over whole numbers of 64 bits.
  constexpr std::uint64_t prime = 1099511628211ULL;
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&](std::uint64_t bits) { hash = (hash ^ bits ^ (bits >> 32)) * prime; };
  for (const DataArray& array : model.data) {
    if (!belongs_to_outcomes(array)) continue;
    for (const char letter : array.shape.name) add(static_cast<unsigned char>(letter));
    array.values([&](std::span<const double> part) {
      for (const double value : part) add(std::bit_cast<std::uint64_t>(value));
    });
  }
  return hash;
}

/// The rows that count; empty if all do.
std::vector<std::size_t> rows_that_count(const Model& model, std::size_t all) {
  std::vector<std::uint8_t> counts(all, 1);
  for (const DataArray& array : model.data) {
    if (array.shape.name != "weights" && array.shape.name != "trials") continue;
    std::size_t row = 0;
    array.values([&](std::span<const double> part) {
      for (const double value : part) {
        if (row < all && value == 0) counts[row] = 0;
        ++row;
      }
    });
  }
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < all; ++i)
    if (counts[i] != 0) rows.push_back(i);
  if (rows.size() == all) rows.clear();
  return rows;
}

void require_same_files(const fs::path& folder, const ModelSpec& spec) {
  for (const auto& [file, print] : spec.files.items())
    if (fs::exists(file) && known_fingerprint(file).md5 != print.value("md5", ""))
      throw Error(
          fmt::format("{} has changed since the run in {} began: put the old file back, or sample again",
                      file, folder.string()));
}

Model build_again(const fs::path& folder, const ordered_json& run) {
  try {
    const ModelSpec spec = ModelSpec::from_json(run.at("model"));
    require_same_files(folder, spec);
    return build(spec);
  } catch (const UsageError& problem) {  // of the file, and not of what was asked for
    throw Error(fmt::format("{}: {} (the file was changed, or a later version of onward made it)",
                            RunFolder::open(folder).run_json().string(), problem.what()));
  }
}

bool can_be_built(const ordered_json& run) {
  const std::string kind = run.at("model").value("name", "");
  return std::ranges::any_of(model_registry().kinds(),
                             [&](const ModelKind& known) { return known.name == kind; });
}

/// What draws.nc has of a model that only the program knows that made it.
StoredLikelihood kept_likelihood(const fs::path& folder, const ordered_json& run, StoredDraws draws) {
  const auto reader = [&] {
    try {
      return NetcdfReader(RunFolder::open(folder).netcdf(), "log_likelihood");
    } catch (const Error&) {
      throw Error(
          fmt::format("the run in {} is of a model that is not known here, and has kept no log likelihoods: "
                      "record it with `format` netcdf and `log_likelihood`",
                      folder.string()));
    }
  };
  NetcdfReader file = reader();
  StoredLikelihood stored;
  stored.kind = run.at("model").value("name", "");
  const std::size_t observations = file.variables().at(0).size();
  stored.rows_of_data = observations;
  const auto values = std::make_shared<std::vector<double>>(draws.chains * draws.draws * observations);
  std::size_t next = 0;
  for (std::size_t chain = 0; chain < file.chains() && next < draws.chains; ++chain) {
    if (file.draws(chain) < draws.draws || file.draws(chain) == 0) continue;
    const std::size_t begin = next++ * draws.draws * observations;
    file.read_rows(0, chain, 0, draws.draws, std::span(*values).subspan(begin, draws.draws * observations));
  }
  stored.log_likelihood = {
      observations, next, draws.draws,
      [values, observations](std::size_t draw, std::size_t first, std::span<double> out) {
        const std::size_t begin = draw * observations + first;
        std::copy_n(values->begin() + static_cast<std::ptrdiff_t>(begin), out.size(), out.begin());
      }};
  draws.column = {};
  draws.setting = {};
  stored.files = std::move(draws);
  return stored;
}

Error no_observations(const std::string& what, const Model& model) {
  return Error(fmt::format(
      "{} is of {}, which has no log likelihood of single observations: regressions have one, and "
      "targets that were given one by log_likelihood()",
      what, model.spec.kind.empty() ? "a model" : model.spec.kind));
}

}  // namespace

StoredLikelihood likelihood_at(const Model& model, StoredDraws draws) {
  if (!model.log_likelihood) throw no_observations("the run", model);
  StoredLikelihood stored;
  stored.kind = model.spec.kind;
  stored.observed = hash_of_outcomes(model);
  const auto likelihood = std::make_shared<const LogLikelihood>(model.log_likelihood());
  const std::size_t width = model.names.size(), observations = likelihood->shape.size();
  const auto values = std::make_shared<const std::vector<double>>(draws.rows(model.names));
  draws.column = {};
  draws.setting = {};
  const auto read = [=](std::size_t draw, std::size_t first, std::span<double> out) {
    const auto parameters = std::span(*values).subspan(draw * width, width);
    if (out.size() == observations) {
      likelihood->at(parameters, out);
    } else if (likelihood->part) {
      likelihood->part(parameters, first, out);
    } else {
      std::vector<double> all(observations);
      likelihood->at(parameters, all);
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
    }
  };
  stored.rows_of_data = observations;
  const std::vector<std::size_t> counting = rows_that_count(model, observations);
  stored.rows = counting;
  if (!likelihood->rows.empty()) {
    if (stored.rows.empty())
      stored.rows.assign(likelihood->rows.begin(), likelihood->rows.end());
    else
      for (std::size_t& row : stored.rows) row = likelihood->rows[row];
  }
  stored.log_likelihood = {observations, draws.chains, draws.draws, read};
  stored.files = std::move(draws);
  if (counting.empty()) return stored;
  stored.log_likelihood.observations = counting.size();
  stored.log_likelihood.at = [read, rows = counting](std::size_t draw, std::size_t first,
                                                     std::span<double> out) {
    if (out.empty()) return;
    const std::size_t begin = rows[first];
    std::vector<double> all(rows[first + out.size() - 1] + 1 - begin);
    read(draw, begin, all);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = all[rows[first + i] - begin];
  };
  return stored;
}

Loo loo(const Model& model, const Run& run, const LooOptions& options) {
  auto result = loo(likelihood_at(model, draws_of(run)).log_likelihood, options);
  if (!result) throw Error("the cross-validation was stopped");
  return std::move(*result);
}

StoredLikelihood read_stored_likelihood(const fs::path& folder,
                                        const std::function<void(std::size_t, std::size_t)>& reading) {
  const ordered_json run = read_run_json(folder);
  require_posterior_draws(folder, run);
  const auto files = files_of_draws(folder);
  if (!can_be_built(run))
    return kept_likelihood(folder, run, read_stored_draws(files, [&](std::size_t done) {
                             if (reading) reading(done, files.size());
                           }));
  const Model model = build_again(folder, run);
  if (!model.log_likelihood) throw no_observations("the run in " + folder.string(), model);
  return likelihood_at(model, read_stored_draws(files, [&](std::size_t done) {
                         if (reading) reading(done, files.size());
                       }));
}

}  // namespace onward
