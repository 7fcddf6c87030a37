#pragma once
// What stands behind the handles of the C interface.

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "onward.h"
#include "onward/model/model.hpp"
#include "onward/record/recording.hpp"
#include "onward/target/density.hpp"

/// What a model is made from, so that it can be made again: a run takes its model's data for itself.
struct onward_model {
  onward::ModelSpec spec;
  onward::BuildFor what_for;
  std::optional<onward::DensityTarget> density;  // a model from outside
  std::optional<onward::Model> built;            // that no run has taken yet
  std::size_t dimension = 0, width = 0;
  std::string description;

  /// The model as it was built, or built again. Throws as build().
  onward::Model& here();
  /// One for a run with these settings.
  onward::Model take(const onward::RunSettings& settings, const std::string& start);

 private:
  onward::Model make(const onward::BuildFor& how) const;
};

/// A table of columns that stay where they are.
onward::Table table_of(const onward_column* columns, std::size_t count);

struct onward_run {
  onward_run(onward_model& made_from, onward::Model model, onward::RunSettings settings,
             onward::Recording recording);
  ~onward_run();
  onward_run(const onward_run&) = delete;
  onward_run& operator=(const onward_run&) = delete;

  /// True once it has ended.
  bool wait(double seconds);
  /// Summaries of all parameters, made when they are first asked for.
  const std::vector<onward::ParameterSummary>& parameters();
  /// The run, which has ended well. Throws what ended it, or UsageError if it goes on.
  const onward::Recorded& result() const;

  std::atomic<bool> stop = false;
  onward_progress progress();
  std::string notes();
  std::string shown_notes, summary, table, loo;  // what was handed out last

  /// What the run was of: a model is good for its description alone once it was sampled.
  const nlohmann::ordered_json model_json;
  const onward::ModelSpec spec;
  const onward::BuildFor what_for;
  const bool is_from_outside;

  /// What not to trust of what the table shows, a sentence each.
  std::vector<std::string> warnings();
  /// What the program prints: the table of what the model wants shown, and what to know of it.
  std::string table_text();

 private:
  /// The rows of the table: effects of groups are left out.
  std::vector<onward::ParameterSummary> shown();
  void sample(onward::Model model, onward::RunSettings settings, const onward::Recording& recording);

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  onward_progress progress_{};
  std::vector<std::string> notes_;
  std::optional<onward::Recorded> recorded_;
  std::exception_ptr trouble_;
  std::optional<std::vector<onward::ParameterSummary>> parameters_;
  std::optional<std::size_t> shown_;
  std::vector<std::string> words_;
  bool beyond_metrics_;
  std::thread thread_;
};
