// A row of Table 2 as JSON, and back.

#include "logreg.hpp"
#include "rows.hpp"

namespace onward::experiments {

using nlohmann::ordered_json;

ordered_json to_json(const LogregRow& row) {
  const auto prediction = [](const Prediction& p) {
    return ordered_json{{"nll", p.nll}, {"accuracy", p.accuracy}, {"ece", p.ece}};
  };
  auto curve = ordered_json::array();
  for (const auto& point : row.curve)
    curve.push_back({point.seconds, point.nll, point.accuracy, point.log_density});
  ordered_json json = shared_json(row);
  json.update({{"images", row.images},
               {"nll", row.last.nll},
               {"accuracy", row.last.accuracy},
               {"ece", row.last.ece},
               {"log_posterior", row.log_density},
               {"log_posterior_start", row.log_density_start},
               {"all_kept", prediction(row.all)},
               {"set_up_seconds", row.set_up_seconds},
               {"ess_log_density", row.ess_log_density},
               {"ess_weights_least", row.ess_weights_least},
               {"ess_weights_median", row.ess_weights_median},
               {"rhat_log_density", optional_json(row.rhat_log_density)},
               {"curve", curve}});
  return json;
}

LogregRow logreg_row_from_json(const ordered_json& json) {
  const auto number = number_from_json;
  const auto prediction = [&](const ordered_json& p) {
    return Prediction{number(p.at("nll")), number(p.at("accuracy")), number(p.at("ece"))};
  };
  LogregRow row;
  read_shared(json, row);
  row.images = json.value("images", std::size_t{0});  // rows of old have none
  row.last = prediction(json);
  row.all = prediction(json.at("all_kept"));
  row.log_density = number(json.at("log_posterior"));
  row.log_density_start = number(json.at("log_posterior_start"));
  row.set_up_seconds = json.at("set_up_seconds");
  row.ess_log_density = number(json.at("ess_log_density"));
  row.ess_weights_least = number(json.at("ess_weights_least"));
  row.ess_weights_median = number(json.at("ess_weights_median"));
  row.rhat_log_density = optional_from_json(json.at("rhat_log_density"));
  for (const auto& p : json.at("curve"))
    row.curve.push_back({number(p[0]), number(p[1]), number(p[2]), number(p[3])});
  return row;
}

}  // namespace onward::experiments
