#pragma once
// A regression sampled by the axis sampler as a Run, like any other: settings in, chains of draws out, with
// the same listeners, progress, time limit and interrupt.

#include <string>
#include <vector>

#include "onward/glm/axis_sampler.hpp"
#include "onward/run/run.hpp"

namespace onward::glm {

struct AxisRun {
  Run run;
  double set_up_seconds = 0;  ///< search of the mode and whitening; part of the run's warm-up
  double largest_drift = 0;   ///< of the cached predictor
};

/// The settings of such a run, checked and filled in: newton-line along axes, 100 sweeps of warm-up, a sweep
/// from draw to draw, relaxation 1.3. A sweep is as many steps as there are parameters; warm-up and thinning
/// are rounded up to whole sweeps.
RunSettings resolve_axes(RunSettings settings, const Posterior& posterior);

/// Samples. `notes` is called with the sentences that the data call for, before anything is drawn.
AxisRun sample_axes(Posterior posterior, const RunSettings& resolved, const Hooks& hooks,
                    const std::function<void(const std::vector<std::string>&)>& notes = {});

}  // namespace onward::glm
