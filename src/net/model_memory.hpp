#pragma once
// How a network's posterior fits the memory that there is.

#include <memory>

#include "onward/net/posterior.hpp"
#include "onward/run/settings.hpp"
#include "onward/util/option.hpp"

namespace onward::net {

/// What a run needs of memory besides its data.
struct Needs {
  std::size_t chains = 1;          ///< that are there at a time
  double vectors = 9;              ///< of all parameters that each of them holds at most
  bool for_mala = false;           ///< which needs gradients
  bool in_pairs = true;            ///< a kernel that may take jets on two lines at once
  bool keeps_activations = false;  ///< directions are within layers
};
Needs needs_of(const RunSettings& run);

/// Throws unless the vectors of one chain can be there at all, before anything of that size is made.
void check_parameters(const Layout& layout);

/// With pieces small enough for `max_memory`, if those are left to us, and with what it leaves for
/// activations. Throws Error, with the sizes, where there is too little.
NetworkPosterior fit_posterior(const OptionValues& given, const Needs& needs,
                               std::shared_ptr<const Network> network, const Data& data,
                               PosteriorOptions options, std::shared_ptr<ThreadPool> pool);

/// Throws Error, with the sizes, where gradients need more than `max_memory` allows, or than the machine has.
void check_gradient_memory(const OptionValues& given, const Needs& needs, const NetworkPosterior& posterior);

}  // namespace onward::net
