#include "process_memory.hpp"

#include <cmath>
#include <fstream>
#include <string>

#include <unistd.h>

namespace onward::experiments {
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
double machine_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace onward::experiments
