// A row of Table 3 as JSON, and back.

#include <cmath>

#include "bnn.hpp"
#include "rows.hpp"

namespace onward::experiments {

using nlohmann::ordered_json;

ordered_json to_json(const BnnRow& row) {
  auto curve = ordered_json::array();
  const auto each = [](const std::vector<BnnScores>& scores, double BnnScores::*field) {
    std::vector<double> values;
    for (const auto& score : scores) values.push_back(score.*field);
    return values;
  };
  for (const auto& p : row.curve) curve.push_back({p.step, p.seconds, p.nll_draw, p.nll, p.log_density});
  ordered_json json = shared_json(row);
  json.update(
      {{"temperature", row.temperature},
       {"directions", row.directions},
       {"points", row.points},
       {"nll", row.last.nll},
       {"mse", row.last.mse},
       {"rmse", std::sqrt(row.last.mse)},
       {"rss_bytes_before", row.bytes_before},
       {"nll_of_chains", each(row.last_of_chains, &BnnScores::nll)},
       {"mse_of_chains", each(row.last_of_chains, &BnnScores::mse)},
       {"all_kept_nll_of_chains", each(row.all_of_chains, &BnnScores::nll)},
       {"all_kept_mse_of_chains", each(row.all_of_chains, &BnnScores::mse)},
       {"nll_middle", row.nll_middle},
       {"all_kept", {{"nll", row.all.nll}, {"mse", row.all.mse}}},
       {"log_density", row.log_density},
       {"log_density_start", row.log_density_start},
       {"weight_rms", row.weight_rms},
       {"curve", curve},
       {"band", {{"x", row.band.x}, {"mean", row.band.mean}, {"q5", row.band.low}, {"q95", row.band.high}}}});
  return json;
}

BnnRow bnn_row_from_json(const ordered_json& json) {
  const auto number = number_from_json;
  const auto numbers = [&](const ordered_json& list) {
    std::vector<double> values;
    for (const auto& value : list) values.push_back(number(value));
    return values;
  };
  BnnRow row;
  read_shared(json, row);
  row.temperature = json.at("temperature");
  row.directions = json.at("directions");
  row.points = json.at("points");
  row.last = {number(json.at("nll")), number(json.at("mse"))};
  row.all = {number(json.at("all_kept").at("nll")), number(json.at("all_kept").at("mse"))};
  const auto scores = [&](const char* nlls, const char* mses) {
    const auto nll = numbers(json.at(nlls)), mse = numbers(json.at(mses));
    std::vector<BnnScores> made;
    for (std::size_t i = 0; i < nll.size(); ++i) made.push_back({nll[i], mse.at(i)});
    return made;
  };
  row.last_of_chains = scores("nll_of_chains", "mse_of_chains");
  row.all_of_chains = scores("all_kept_nll_of_chains", "all_kept_mse_of_chains");
  row.nll_middle = number(json.at("nll_middle"));
  row.bytes_before = json.at("rss_bytes_before");
  row.log_density = number(json.at("log_density"));
  row.log_density_start = number(json.at("log_density_start"));
  row.weight_rms = number(json.at("weight_rms"));
  for (const auto& p : json.at("curve"))
    row.curve.push_back({number(p[0]), number(p[1]), number(p[2]), number(p[3]), number(p[4])});
  const auto& band = json.at("band");
  row.band = {numbers(band.at("x")), numbers(band.at("mean")), numbers(band.at("q5")),
              numbers(band.at("q95"))};
  return row;
}

}  // namespace onward::experiments
