#pragma once
// What `onward loo` shows: tables, sentences, JSON and the file of single observations.

#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/diagnostics/loo.hpp"

namespace onward::app {

/// How well the model of one run predicts.
struct Judged {
  std::string folder, model;
  std::variant<Loo, Waic> result;
  std::vector<std::size_t> rows;  ///< of the data, where some are no observations; empty: all

  std::size_t row(std::size_t i) const { return (rows.empty() ? i : rows[i]) + 1; }  ///< counted from 1
  std::vector<double> elpds() const;                                                 ///< of each observation
  const Estimate& elpd() const;
};

/// The figures of one run, and what they are worth in plain words.
std::string report(const Judged& judged);

/// Several runs, the best first.
std::string comparison_report(const std::vector<Judged>& runs, const std::vector<ComparedModel>& order);

nlohmann::ordered_json report_json(const std::vector<Judged>& runs, const std::vector<ComparedModel>& order);

/// A line for each observation of each run, with a header.
std::string pointwise_csv(const std::vector<Judged>& runs);

}  // namespace onward::app
