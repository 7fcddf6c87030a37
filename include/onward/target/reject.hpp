#pragma once
// How a model says that a place has no density, and why.

#include <stdexcept>
#include <string>

namespace onward {

/// Ends the evaluation: there is no density at this place. The proposal is rejected, and a run counts it and
/// shows the first reason. It serves in place of `return -infinity`, which would be of another type than the
/// log density:
///
///     if (rate > limit) onward::reject("the rate is above the limit");
///
/// It throws std::domain_error, as code that knows nothing of Onward may do with the same effect.
[[noreturn]] inline void reject(const std::string& why) { throw std::domain_error(why); }

}  // namespace onward
