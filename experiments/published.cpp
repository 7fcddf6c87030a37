#include "published.hpp"

#include <array>

namespace onward::experiments {
namespace {

struct Entry {
  std::size_t dim;
  std::string_view sampler;
  PublishedFunnelRow row;
};

// KL, ESS of w, ESS of the x's (mean and standard deviation over 10 seeds), p-value against mala.
const std::array funnel_entries{
    Entry{10, "fmala", {{0.202, 0.125}, {15.8, 9.4}, {140.5, 77.2}, 0.73}},
    Entry{10, "line-fmala", {{0.176, 0.089}, {12.4, 3.4}, {107.9, 50.3}, 0.49}},
    Entry{10, "pc-fmala", {{0.063, 0.048}, {9.9, 3.7}, {132.9, 78.3}, 0.01}},
    Entry{10, "pc-line-fmala", {{0.039, 0.025}, {12.0, 2.4}, {366.5, 87.4}, 0.01}},
    Entry{10, "mala", {{0.16, 0.075}, {20.9, 8.5}, {111.2, 45.6}, std::nullopt}},
    Entry{50, "fmala", {{1.705, 0.8}, {7.2, 1.3}, {99.0, 26.6}, 0.0}},
    Entry{50, "line-fmala", {{1.978, 0.735}, {7.9, 1.0}, {101.1, 34.0}, 0.0}},
    Entry{50, "pc-fmala", {{1.834, 0.75}, {6.9, 0.7}, {119.4, 30.0}, 0.0}},
    Entry{50, "pc-line-fmala", {{0.917, 0.584}, {7.0, 1.1}, {263.2, 48.8}, 0.79}},
    Entry{50, "mala", {{0.549, 0.327}, {10.7, 2.2}, {170.8, 81.6}, std::nullopt}},
    Entry{100, "fmala", {{7.15, 2.627}, {6.8, 0.8}, {110.6, 15.9}, 0.0}},
    Entry{100, "line-fmala", {{5.929, 1.913}, {6.8, 0.7}, {99.6, 18.0}, 0.0}},
    Entry{100, "pc-fmala", {{7.877, 2.99}, {7.4, 0.8}, {83.2, 9.5}, 0.0}},
    Entry{100, "pc-line-fmala", {{3.444, 1.567}, {6.6, 0.4}, {168.4, 20.6}, 0.0}},
    Entry{100, "mala", {{1.366, 0.531}, {9.4, 1.4}, {275.8, 109.5}, std::nullopt}},
};

}  // namespace

std::optional<PublishedFunnelRow> published_funnel(std::size_t dim, std::string_view sampler) {
  for (const auto& entry : funnel_entries)
    if (entry.dim == dim && entry.sampler == sampler) return entry.row;
  return std::nullopt;
}

}  // namespace onward::experiments
