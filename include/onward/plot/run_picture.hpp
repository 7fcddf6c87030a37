#pragma once
// The one picture of a run: what each parameter's draws look like, and whether the chains agree.

#include <string>
#include <vector>

#include "onward/diagnostics/convergence.hpp"

namespace onward::plot {

/// The draws of one parameter and its name.
struct NamedChains {
  std::string name;
  Chains chains;
};

/// Draws the first six parameters, a row each: on the left the densities of the chains over the histogram of
/// all draws (the central 99%), on the right the traces; R-hat and effective sample sizes above. The ending
/// of `path` chooses .svg or .png. Throws Error if there is nothing to draw.
void run_picture(const std::string& path, const std::vector<NamedChains>& parameters);

}  // namespace onward::plot
