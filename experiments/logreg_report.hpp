#pragma once
// The table of logreg.hpp in words, JSON and a figure.

#include <string>

#include <nlohmann/json.hpp>

#include "logreg.hpp"

namespace onward::experiments {

std::string logreg_text(const LogregTable& table);
std::string logreg_markdown(const LogregTable& table);
nlohmann::ordered_json logreg_json(const LogregTable& table);
/// curves.svg and curves.png: NLL and accuracy against seconds, a curve a sampler.
void logreg_figure(const LogregTable& table, const std::string& folder);

}  // namespace onward::experiments
