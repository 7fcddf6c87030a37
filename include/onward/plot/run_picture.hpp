#pragma once
// The one picture of a run: what each parameter's draws look like, and whether the chains agree.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "onward/diagnostics/convergence.hpp"

namespace onward::plot {

/// The draws of one parameter and its name.
struct NamedChains {
  std::string name;
  Chains chains;
};

/// Draws up to six parameters, a row each: on the left the densities of the chains over the histogram of all
/// draws (the central 99%), on the right the traces; R-hat and effective sample sizes above. Which six:
/// numbers that stand alone (mu, tau) before entries of vectors (theta.1, theta.2), of those the first ones
/// of each vector; and not a parameter that is 1 minus one that is shown. The ending of `path` chooses .svg
/// or .png. Throws Error if there is nothing to draw.
void run_picture(const std::string& path, const std::vector<NamedChains>& parameters);

/// The same for parameters whose draws are asked for only if they are looked at. `summaries`, one for each
/// parameter, have R-hat and effective sample sizes; without them they are computed, which takes its time
/// where draws are many.
void run_picture(const std::string& path, std::span<const std::string> names,
                 const std::function<Chains(std::size_t)>& chains_of,
                 std::span<const ParameterSummary> summaries = {});

/// Numbers of the parameters in the order in which a picture would take them up, by their names alone.
std::vector<std::size_t> by_importance(std::span<const std::string> names);

}  // namespace onward::plot
