#include "bench/posteriors/others.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "bench/posteriors/answers.hpp"
#include "bench/posteriors/data.hpp"
#include "onward/error.hpp"

namespace onward::bench {
namespace {

posteriors::Data read(const std::string& path) {
  std::ifstream file(path);
  auto json = posteriors::Data::parse(file, nullptr, false);
  if (json.is_discarded())
    throw Error(
        fmt::format("{} cannot be read as JSON: --posteriordb DIR is a folder with files "
                    "MODEL.data.json and MODEL.reference.json",
                    path));
  return json;
}

/// theta.1 as posteriordb writes it: theta[1].
std::string bracketed(const std::string& name) {
  const auto dot = name.find('.');
  return dot == std::string::npos ? name : name.substr(0, dot) + "[" + name.substr(dot + 1) + "]";
}

/// From reference draws, which are nearly independent.
Quantities from_reference(const posteriors::Data& reference, const std::vector<std::string>& names) {
  Quantities q;
  for (const auto& name : names) {
    const auto& row = reference.at("reference").at(bracketed(name));
    const double sd = row.at("sd").get<double>(), draws = row.at("n").get<double>();
    q.mean.push_back(row.at("mean").get<double>());
    q.variance.push_back(sd * sd);
    q.mean_error.push_back(sd / std::sqrt(draws));
    q.sd_error.push_back(1 / std::sqrt(2 * draws));
  }
  return q;
}

Quantities from_answers(const std::vector<Answer>& answers) {
  Quantities q;
  for (const auto& a : answers) {
    q.mean.push_back(a.mean);
    q.variance.push_back(a.sd * a.sd);
    q.mean_error.push_back(a.mean_error);
    q.sd_error.push_back(a.sd_error / a.sd);
  }
  return q;
}

}  // namespace

std::string to_string(Origin origin) {
  switch (origin) {
    case Origin::drawn:
      return "drawn";
    case Origin::posteriordb:
      return "posteriordb";
    case Origin::simulated:
      return "simulated";
    case Origin::nasty:
      return "nasty";
  }
  return {};
}

const std::vector<Other>& others() {
  namespace p = posteriors;
  using enum Origin;
  static const std::vector<Other> list{
      {"arK", posteriordb, "arK-arK", p::autoregression},
      {"logearn_height", posteriordb, "earnings-logearn_height", p::log_earnings},
      {"eight_schools_noncentered", posteriordb, "eight_schools-eight_schools_noncentered",
       p::eight_schools_noncentered},
      {"garch11", posteriordb, "garch-garch11", p::garch11},
      {"gp_regr", posteriordb, "gp_pois_regr-gp_regr", p::gp_regression},
      {"hmm_example", posteriordb, "hmm_example-hmm_example", p::hmm_example},
      {"lotka_volterra", posteriordb, "hudson_lynx_hare-lotka_volterra", p::lotka_volterra},
      {"kidscore_momhsiq", posteriordb, "kidiq-kidscore_momhsiq", p::kidscore_momhsiq},
      {"low_dim_gauss_mix", posteriordb, "low_dim_gauss_mix-low_dim_gauss_mix", p::low_dim_gauss_mix},
      {"logmesquite", posteriordb, "mesquite-logmesquite", p::logmesquite},
      {"nes", posteriordb, "nes1980-nes", p::nes},
      {"blr", posteriordb, "sblrc-blr", p::blr},
      {"item-response", simulated, "", p::item_response, p::item_response_data},
      {"hierarchical-regression", simulated, "", p::hierarchical_regression, p::hierarchical_regression_data},
      {"gp-regression", simulated, "", p::gp_regression, p::gp_regression_data},
      {"arma", nasty, "", p::arma, p::arma_data},
      {"earnings", nasty, "", p::earnings, p::earnings_data},
      {"hmm-drives", nasty, "", p::hmm_drives, p::hmm_drives_data},
      {"motorcycle", nasty, "", p::motorcycle, p::motorcycle_data},
      {"negative-binomial", nasty, "", p::negative_binomial, p::negative_binomial_data},
      {"smooth-box", nasty, "", [](const p::Data&) { return p::smooth_box(); }, [] { return p::Data(); }},
      {"mixture-widths", nasty, "", [](const p::Data&) { return p::mixture_widths(); },
       [] { return p::Data(); }},
  };
  return list;
}

const Other* find_other(std::string_view name) {
  const auto at =
      std::find_if(others().begin(), others().end(), [&](const Other& o) { return o.name == name; });
  return at == others().end() ? nullptr : &*at;
}

posteriors::Data Other::data(const std::string& posteriordb) const {
  return own_data ? own_data() : read(fmt::format("{}/{}.data.json", posteriordb, file));
}

KnownPosterior Other::make(const std::string& posteriordb) const {
  AnyTarget model = target(data(posteriordb));
  const auto names = model.names();
  Quantities quantities =
      own_data ? from_answers(answers(name))
               : from_reference(read(fmt::format("{}/{}.reference.json", posteriordb, file)), names);
  if (!quantities.mean.empty() && quantities.mean.size() != names.size())
    throw Error(
        fmt::format("{} has {} parameters, and answers for {}", name, names.size(), quantities.mean.size()));
  quantities.from = [](std::span<const double> parameters, std::span<double> out) {
    std::copy(parameters.begin(), parameters.end(), out.begin());
  };
  return {name, "", false, Kind::usual, 60, std::move(model), {}, std::move(quantities), origin};
}

}  // namespace onward::bench
