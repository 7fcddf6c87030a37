#pragma once
// The table of bnn.hpp in words, JSON and figures.

#include <string>

#include <nlohmann/json.hpp>

#include "bnn.hpp"

namespace onward::experiments {

std::string bnn_text(const BnnTable& table);
std::string bnn_markdown(const BnnTable& table);
std::string bnn_csv(const BnnTable& table);
nlohmann::ordered_json bnn_json(const BnnTable& table);
/// predictions.svg and .png: the points, and what each sampler's draws say of them, with bands; nll.svg and
/// .png: NLL against steps, of single draws and of the last 100 kept.
void bnn_figures(const BnnTable& table, const std::string& folder);

}  // namespace onward::experiments
