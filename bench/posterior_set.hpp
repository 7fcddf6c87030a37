#pragma once
// The posteriors that samplers are measured on, each with its answers and a way to draw from it without a
// Markov chain.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "models/independent_draws.hpp"
#include "onward/target/target.hpp"

namespace onward::bench {

/// Quantities whose means and variances are compared with the truth: the parameters themselves, or, where
/// their tails are so heavy that even independent draws would not find their variance, functions of them.
struct Quantities {
  std::string words;  ///< what they are, if not the parameters
  std::function<void(std::span<const double> parameters, std::span<double> out)> from;
  std::vector<double> mean, variance;
};

/// How much a fair look at it takes: slow ones need many steps for an effective draw, at little cost each; of
/// costly ones an evaluation takes long.
enum class Kind { usual, slow, costly };

struct KnownPosterior {
  std::string name;
  std::string command;   ///< how `onward sample` is asked for it; empty if it cannot be
  bool one_dimensional;  ///< beside the set proper: a tail on which kernels get stuck
  Kind kind;
  double allowed_seconds;  ///< for a run without options
  AnyTarget target;
  models::DrawSource source;
  Quantities quantities;
};

/// Names, in order.
std::vector<std::string> posterior_names();
/// The names that a list chooses: each entry is a name or the model's part of several ("gaussian"). Throws
/// UsageError for one that is neither. An empty list chooses all.
std::vector<std::string> chosen_posteriors(const std::vector<std::string>& list);
KnownPosterior make_posterior(const std::string& name);

}  // namespace onward::bench
