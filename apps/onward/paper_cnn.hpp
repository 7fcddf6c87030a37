#pragma once
// `onward paper cnn`: its options and what it does.

#include <atomic>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "experiments/cnn.hpp"
#include "experiments/cnn_pretraining.hpp"

namespace onward::app {

struct CnnRequest {
  experiments::CnnSettings table;
  experiments::PretrainingSettings training;
  bool pretrain = false;
  std::string part;
};

/// Adds the options that no other experiment has, and gives their names.
std::vector<std::string> add_cnn_options(CLI::App& command, CnnRequest& request);

/// Everything tiny, except what was given.
void make_quick(CnnRequest& request, const CLI::App& command);

/// What all experiments have.
struct PaperCommons {
  std::string out;
  bool quick, json, quiet;
  const std::atomic<bool>& stop;
  std::function<void()> begin;       ///< makes the folder and listens for signals
  std::function<int()> interrupted;  ///< says so; the exit code
};

int paper_cnn(CnnRequest& request, const PaperCommons& commons);

}  // namespace onward::app
