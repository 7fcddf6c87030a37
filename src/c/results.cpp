// What comes of the draws of a regression: cross-validation and predictions.

#include <algorithm>

#include <fmt/format.h>

#include "guard.hpp"
#include "handles.hpp"
#include "onward/error.hpp"
#include "onward/formula/formula.hpp"
#include "onward/glm/predict.hpp"
#include "onward/io/loo_json.hpp"
#include "onward/model/registry.hpp"
#include "onward/record/run_draws.hpp"
#include "onward/record/stored_likelihood.hpp"
#include "onward/table/read_table.hpp"

namespace {

using namespace onward;
using nlohmann::ordered_json;

glm::PredictionOptions prediction_options(const ordered_json& json) {
  glm::PredictionOptions options;
  for (const auto& [field, value] : json.items()) {
    const auto wrong = [&, &field = field, &value = value](const std::string& wanted) {
      return UsageError(fmt::format("`{}` {} must be {}", field, value.dump(), wanted));
    };
    if (field == "what") {
      if (!value.is_string()) throw wrong("fitted, predictive or linear");
      options.what = glm::parse_what(value.get<std::string>());
    } else if (field == "new_levels") {
      if (value != "draw" && value != "refuse") throw wrong("refuse or draw");
      options.draw_new_levels = value == "draw";
    } else if (field == "groups") {
      if (!value.is_boolean()) throw wrong("true or false");
      options.groups = value.get<bool>();
    } else if (field == "seed") {
      if (!value.is_number_unsigned()) throw wrong("a whole number, 0 or more");
      options.seed = value.get<std::uint64_t>();
    } else if (field == "threads") {
      if (!value.is_number_unsigned()) throw wrong("a whole number, 0 or more");
      options.threads = value.get<std::size_t>();
    } else if (field == "probabilities") {
      const auto probability = [](const ordered_json& p) {
        return p.is_number() && p.get<double>() > 0 && p.get<double>() < 1;
      };
      if (!value.is_array() || !std::ranges::all_of(value, probability))
        throw wrong("a list of probabilities between 0 and 1");
      options.probabilities = value.get<std::vector<double>>();
    } else {
      throw UsageError(
          fmt::format("predictions have no field `{}`: they have what, new_levels, groups, seed, threads and "
                      "probabilities",
                      field));
    }
  }
  return options;
}

/// The rows that the regression was fitted to.
Table fitted_table(const onward_run& run, const glm::FittedRegression& fitted) {
  check_files(run.spec, run.what_for);
  const auto in_memory = run.what_for.tables.find("table");
  return in_memory != run.what_for.tables.end() ? in_memory->second : read_table(fitted.data, fitted.table);
}

}  // namespace

struct onward_predictions {
  onward_predictions(const onward_run& run, const ordered_json& options, const onward_column* columns,
                     std::size_t count)
      : fitted(glm::FittedRegression::from_json(run.model_json)),
        table(count > 0 ? table_of(columns, count) : fitted_table(run, fitted)),
        predictions(fitted, table, draws_of(run.result().run), prediction_options(options)) {
    description = json_text(ordered_json{{"rows", predictions.rows()},
                                         {"draws", predictions.draws()},
                                         {"classes", predictions.classes()},
                                         {"table_rows", predictions.frame().table_rows},
                                         {"table_length", table.rows()},
                                         {"notes", predictions.notes()}});
  }

  glm::FittedRegression fitted;
  Table table;
  glm::Predictions predictions;
  std::string description;
};

extern "C" {

const char* onward_run_loo(onward_run* run, int waic_instead) {
  return c_interface::text(run->loo, [&] {
    if (run->is_from_outside)
      throw Error("the run is of a model from outside, which has no log likelihood of single observations");
    const StoredLikelihood stored =
        likelihood_at(build(run->spec, run->what_for), draws_of(run->result().run));
    ordered_json json;
    const auto put = [&](const auto& result) {
      json = loo_json(*result);
      if (!stored.rows.empty()) json["rows"] = stored.rows;
      json["pointwise"] = pointwise_json(*result);
    };
    if (waic_instead != 0)
      put(waic(stored.log_likelihood));
    else
      put(loo(stored.log_likelihood));
    return json_text(json);
  });
}

onward_predictions* onward_run_predict(onward_run* run, const char* options, const onward_column* columns,
                                       size_t column_count) {
  return c_interface::made([&] {
    return std::make_unique<onward_predictions>(
        *run, c_interface::parsed(options, "the options of predictions"), columns, column_count);
  });
}

const char* onward_predictions_describe(const onward_predictions* predictions) {
  return predictions->description.c_str();
}

int onward_predictions_values(const onward_predictions* handle, double* summaries, double* draws) {
  return c_interface::guarded([&] {
    handle->predictions.each_block(
        [&](std::size_t, std::span<const glm::PredictedRow> rows, std::span<const double> all) {
          if (summaries != nullptr)
            for (const glm::PredictedRow& row : rows) {
              *summaries++ = row.mean;
              *summaries++ = row.sd;
              summaries = std::ranges::copy(row.quantiles, summaries).out;
            }
          if (draws != nullptr) draws = std::ranges::copy(all, draws).out;
          return true;
        });
  });
}

void onward_predictions_free(onward_predictions* predictions) { delete predictions; }

const char* onward_formula_variables(const char* formula) {
  thread_local std::string names;
  return c_interface::text(names, [&] {
    const formula::Formula parsed(c_interface::required(formula, "formula"));
    ordered_json list = parsed.variables();
    if (parsed.has_dot()) list.push_back(".");
    return list.dump();
  });
}

}  // extern "C"
