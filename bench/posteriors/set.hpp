#pragma once
// The posteriors that samplers are measured on, each with its answers: those with a way to draw from them
// without a Markov chain, models of posteriordb, and models of our own.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/independent_draws.hpp"
#include "onward/target/target.hpp"

namespace onward::bench {

/// Quantities whose means and variances are compared with the truth: the parameters themselves, or, where
/// their tails are so heavy that even independent draws would not find their variance, functions of them.
struct Quantities {
  std::string words;  ///< what they are, if not the parameters
  std::function<void(std::span<const double> parameters, std::span<double> out)> from;
  std::vector<double> mean, variance;
  /// Where the answers come from draws themselves: standard errors of means, and of standard deviations
  /// relative to them. Empty: exact, or as good as.
  std::vector<double> mean_error = {}, sd_error = {};
};

/// How much a fair look at it takes: slow ones need many steps for an effective draw, at little cost each; of
/// costly ones an evaluation takes long.
enum class Kind { usual, slow, costly };

/// Where a posterior comes from.
enum class Origin {
  drawn,        ///< independent draws of it can be made
  posteriordb,  ///< a model of Stan's posteriordb: data and answers are read from a folder
  simulated,    ///< a model with data of our own
  nasty,        ///< the same, such that chains from random starts get lost
};

struct KnownPosterior {
  std::string name;
  std::string command;   ///< how `onward sample` is asked for it; empty if it cannot be
  bool one_dimensional;  ///< beside the set proper: a tail on which kernels get stuck
  Kind kind;
  double allowed_seconds;  ///< for a run without options
  AnyTarget target;
  std::function<models::DrawSource()>
      make_source;  ///< takes seconds for some; empty if it cannot be drawn from
  Quantities quantities;
  Origin origin = Origin::drawn;
};

/// Names, in order. Those of posteriordb are among them if its folder is given.
std::vector<std::string> posterior_names(const std::string& posteriordb = {});
/// The names that a list chooses: each entry is a name, the model's part of several ("gaussian"), or an
/// origin
/// ("posteriordb", "simulated", "nasty"). Throws UsageError for one that is none of them. An empty list
/// chooses all.
std::vector<std::string> chosen_posteriors(const std::vector<std::string>& list,
                                           const std::string& posteriordb = {});
/// Whether it takes a run of a chain to have draws of it.
bool is_costly_to_draw(const std::string& name);
KnownPosterior make_posterior(const std::string& name, const std::string& posteriordb = {});

/// The data of a posterior of our own, for whoever samples it elsewhere; null if it has none.
nlohmann::json posterior_data(const std::string& name, const std::string& posteriordb = {});

}  // namespace onward::bench
