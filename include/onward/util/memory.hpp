#pragma once
// What memory this process holds and held at most, what the machine has, and such sizes in words.

#include <string>

namespace onward {

double resident_bytes();       ///< held now; NaN where the system does not say
double peak_resident_bytes();  ///< held at most since the start or the last forget_peak(); NaN likewise
/// The peak begins anew at what is held now.
void forget_peak();
double machine_bytes();  ///< all that the machine has
/// Returns to the system what was freed here and there: allocators keep it, for whoever asks next.
void give_back_memory();
/// From here on an array of 256 KiB or more goes back to the system as soon as it is freed. The C library
/// would raise that limit whenever a larger one is freed, and then keep holes between what is still used. It
/// concerns the whole process, so that it is for programs to call, before they set up what they hold for
/// long.
void return_large_arrays();

/// "12 MB", "1.5 GB": three digits, in powers of ten.
std::string shown_bytes(double bytes);

}  // namespace onward
