#include "onward/io/loo_json.hpp"

#include <string>

namespace onward {
namespace {

using nlohmann::ordered_json;

template <class Result>
ordered_json sizes(const Result& result) {
  return {{"chains", result.chains}, {"draws", result.draws}, {"observations", result.points.size()}};
}

void add(ordered_json& json, const std::string& name, const Estimate& estimate) {
  json[name] = estimate.value;
  json["se_" + name] = estimate.se;
}

template <class Point>
ordered_json list(const std::vector<Point>& points, double Point::*field) {
  ordered_json values = ordered_json::array();
  for (const Point& point : points) values.push_back(point.*field);
  return values;
}

}  // namespace

ordered_json loo_json(const Loo& result) {
  ordered_json json = sizes(result);
  add(json, "elpd_loo", result.elpd);
  add(json, "p_loo", result.p);
  add(json, "looic", result.looic);
  json["mcse_elpd_loo"] = result.mcse();
  json["pareto_k"] = {{"good", result.k_counts[0]},
                      {"ok", result.k_counts[1]},
                      {"bad", result.k_counts[2]},
                      {"very_bad", result.k_counts[3]}};
  return json;
}

ordered_json loo_json(const Waic& result) {
  ordered_json json = sizes(result);
  add(json, "elpd_waic", result.elpd);
  add(json, "p_waic", result.p);
  add(json, "waic", result.waic);
  json["p_waic_above_0.4"] = result.p_above_limit;
  return json;
}

ordered_json pointwise_json(const Loo& result) {
  return {{"elpd", list(result.points, &LooPoint::elpd)},
          {"mcse", list(result.points, &LooPoint::mcse)},
          {"p", list(result.points, &LooPoint::p)},
          {"k", list(result.points, &LooPoint::k)},
          {"n_eff", list(result.points, &LooPoint::n_eff)}};
}

ordered_json pointwise_json(const Waic& result) {
  return {{"elpd", list(result.points, &WaicPoint::elpd)}, {"p", list(result.points, &WaicPoint::p)}};
}

}  // namespace onward
