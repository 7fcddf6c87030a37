#include "onward/util/memory.hpp"

#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cmath>
#include <fstream>

#include <fmt/format.h>

namespace onward {
namespace {

double status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return 1024 * std::stod(line.substr(key.size() + 1));
  return std::nan("");
}

}  // namespace

double resident_bytes() { return status_bytes("VmRSS"); }
double peak_resident_bytes() { return status_bytes("VmHWM"); }
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }
void give_back_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}
void return_large_arrays() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 18);
  // Which the call above would otherwise leave at its least: the end of the heap would come and go all the
  // time.
  mallopt(M_TRIM_THRESHOLD, 1 << 21);
#endif
}
double machine_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

std::string shown_bytes(double bytes) {
  const bool large = bytes >= 999.5e6;
  const double number = bytes / (large ? 1e9 : 1e6);
  // 'g' would write 1234 as 1.23e+03.
  return (number < 100 ? fmt::format("{:.3g}", number) : fmt::format("{:.0f}", number)) +
         (large ? " GB" : " MB");
}

}  // namespace onward
