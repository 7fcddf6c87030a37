#pragma once
// The tables of cnn.hpp in words, JSON and a figure.

#include <string>

#include <nlohmann/json.hpp>

#include "cnn.hpp"

namespace onward::experiments {

std::string cnn_text(const CnnTable& table);
std::string cnn_markdown(const CnnTable& table);
/// Every chain, and every row of times; empty if that part was not run.
std::string cnn_quality_csv(const CnnTable& table);
std::string cnn_timing_csv(const CnnTable& table);
nlohmann::ordered_json cnn_json(const CnnTable& table);
/// step-size.svg and .png: accuracy and ECE of test images against the step size.
void cnn_figure(const CnnTable& table, const std::string& folder);

/// The scores of the weights that samplers start from, in a line.
std::string cnn_start_text(const CnnStart& start);

}  // namespace onward::experiments
