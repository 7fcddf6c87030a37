#pragma once
// The figures that the paper printed (arXiv 2505.18081), to stand beside ours.

#include <cstddef>
#include <optional>
#include <string_view>

#include "funnel.hpp"

namespace onward::experiments {

/// Table 1, for 10, 50 and 100 x's; none for what was not published (rwm, other dimensions).
std::optional<PublishedFunnelRow> published_funnel(std::size_t dim, std::string_view sampler);

}  // namespace onward::experiments
