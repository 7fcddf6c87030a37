#pragma once
// What memory this process holds, and held at most.

namespace onward::experiments {

double resident_bytes();       ///< now
double peak_resident_bytes();  ///< at most, since the last forget_peak()
/// The peak begins anew at what is held now.
void forget_peak();
double machine_bytes();  ///< all that the machine has

}  // namespace onward::experiments
