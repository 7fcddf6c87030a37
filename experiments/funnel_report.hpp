#pragma once
// The funnel table as text, Markdown, CSV and JSON, and the figures that go with it.

#include <string>

#include <nlohmann/json.hpp>

#include "funnel.hpp"

namespace onward::experiments {

std::string funnel_text(const FunnelTable& table);
std::string funnel_markdown(const FunnelTable& table);
std::string funnel_csv(const FunnelTable& table);
nlohmann::ordered_json funnel_json(const FunnelTable& table);

/// KL and acceptance against step size, one curve a sampler with its band over seeds, one column a dimension:
/// the paper's sensitivity figures. Writes sensitivity.svg and sensitivity.png.
void funnel_figures(const FunnelTable& table, const std::string& folder);

}  // namespace onward::experiments
