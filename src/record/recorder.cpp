#include <algorithm>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/csv_sink.hpp"
#include "onward/io/json.hpp"
#include "onward/io/npy.hpp"
#include "onward/io/npy_sink.hpp"
#include "onward/io/run_json.hpp"
#include "onward/io/trace.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/recording.hpp"
#include "onward/run/setting_fields.hpp"
#include "run_file.hpp"

namespace onward {

using nlohmann::ordered_json;

namespace {

RunFolder folder_for(const Recording& recording, bool begins_again) {
  using enum Recording::Into;
  switch (recording.into) {
    case numbered:
      return RunFolder::create_next(recording.folder);
    case replaced:
      return RunFolder::create(recording.folder, true);
    case resumed:
      return begins_again ? RunFolder::create(recording.folder, true) : RunFolder::reopen(recording.folder);
    case fresh:
      break;
  }
  return RunFolder::create(recording.folder);
}

NetcdfContents contents_of(const Model& model, const Recording& recording) {
  NetcdfContents contents{model.parameters()};
  if (!recording.no_data) contents.data = model.data;
  if (recording.unconstrained) contents.unconstrained = model.free_parameters();
  if (!recording.log_likelihood) return contents;
  if (!model.log_likelihood)
    throw UsageError(
        fmt::format("`log_likelihood` is for models that know the log likelihood of each observation, as "
                    "regressions do, not for {}: leave it out",
                    model.spec.kind));
  contents.log_likelihood = model.log_likelihood();
  return contents;
}

/// mean.npy and sd.npy: one number for each parameter.
void write_moments(const RunFolder& folder, const MomentsSink& moments) {
  const auto write = [&](const char* name, const std::vector<double>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(folder.path() / name, {{{values.size()}, "<f8"}, {bytes.begin(), bytes.end()}});
  };
  write("mean.npy", moments.mean());
  write("sd.npy", moments.sd());
}

}  // namespace

Recorder::Recorder(const Model& model, Recording recording)
    : recording_(std::move(recording)),
      kind_(model.spec.kind),
      model_(model.to_json()),
      names_(model.names),
      name_indices_(model.name_indices),
      shown_(model.shown),
      make_own_(model.make_sink) {
  if (kind_.empty()) model_["name"] = kind_ = "model";  // a target of the user's own
  recording_.check(kind_);
  using enum Recording::Into;
  if (!recording_.folder.empty() && (recording_.into == fresh || recording_.into == replaced))
    RunFolder::check(recording_.folder, recording_.into == replaced);
  if (recording_.keep == "predictions" && !make_own_)
    throw UsageError(
        fmt::format("`keep` predictions is for models that predict, as networks do, not for {}", kind_));
  if (recording_.has_format("netcdf")) netcdf_contents_ = contents_of(model, recording_);
}

ordered_json Recorder::about() const {
  return {{"model", model_},
          {"settings", settings_json(settings_)},
          {"files", fingerprints_of_start(settings_.start.word)},
          {"recording", recording_.to_json()}};
}

void Recorder::begin(const RunSettings& resolved, std::size_t dimension, ordered_json found) {
  settings_ = resolved;
  dimension_ = dimension;
  found_ = std::move(found);
  if (recording_.keep == "trace") check_traceable(settings_);
  if (recording_.folder.empty()) return;
  const ordered_json now = about();
  ordered_json earlier = ordered_json::object();
  if (recording_.into == Recording::Into::resumed) {
    earlier = read_run_json(recording_.folder);
    earlier["recording"] = recording_in(earlier);
    begins_again_ = ended_before_checkpoint(recording_.folder);
    if (begins_again_) require_same(recording_.folder, now, earlier);
  }
  folder_ = folder_for(recording_, begins_again_);
  if (recording_.into == Recording::Into::resumed && !begins_again_)
    resume_ = read_resume(recording_.folder, now, names_, name_indices_,
                          recording_.keep == "draws" && recording_.has_format("csv"));
  run_json_ = detail::run_json({.model = model_,
                                .settings = now["settings"],
                                .files = now["files"],
                                .recording = now["recording"],
                                .dimension = dimension_,
                                .names = names_,
                                .name_indices = name_indices_,
                                .found = found_});
  for (const auto& [field, value] : earlier.items())  // how the sampler was chosen, say
    if (field != "recording" && field != "problem" && !run_json_.contains(field)) run_json_[field] = value;
  for (const char* field : {"choice", "tuning"})
    if (earlier.contains(field)) found_[field] = earlier[field];
}

bool Recorder::had_all(const Run& run) const {
  if (!resume_ || run.ending != Ending::complete) return false;
  return std::ranges::equal(run.chains, resume_->checkpoint.chains, {}, &ChainRecord::draws,
                            &ChainCheckpoint::draws);
}

void Recorder::write_run_json(const std::string& status) {
  if (folder_) detail::write_run_json(*folder_, run_json_, status);
}

template <class S, class... Arguments>
S* Recorder::add(Arguments&&... arguments) {
  auto sink = std::make_unique<S>(std::forward<Arguments>(arguments)...);
  S* pointer = sink.get();
  sinks_.push_back(std::move(sink));
  return pointer;
}

void Recorder::make_sinks() {
  const Checkpoint* resumed = resume_ ? &resume_->checkpoint : nullptr;
  if (make_own_) {
    auto sink = make_own_(settings_.chains, folder());
    own_ = sink.get();
    sinks_.push_back(std::move(sink));
  }
  if (recording_.keep == "moments") moments_ = add<MomentsSink>(names_.size(), settings_.chains);
  if (!folder_) return;
  if (recording_.keep == "trace") add<TraceSink>(*folder_, settings_, resumed);
  if (recording_.keep != "draws") return;
  if (recording_.has_format("csv")) add<CsvSink>(*folder_, kind_, settings_, names_, name_indices_, resumed);
  if (recording_.has_format("npy")) add<NpySink>(*folder_, dimension_, settings_.chains, resumed);
  if (recording_.has_format("netcdf")) {
    const NetcdfOptions options{.single_precision = recording_.single_precision,
                                .threads = settings_.threads};
    netcdf_ = add<NetcdfSink>(*folder_, kind_, settings_, std::move(netcdf_contents_), options, resumed);
    if (resume_ && !recording_.has_format("csv")) resume_->chains = netcdf_->earlier();
  }
}

Run Recorder::run(ChainMaker& maker, Hooks hooks) {
  try {
    write_run_json("unfinished");  // first: from here on the run can be resumed
    make_sinks();
    for (const auto& sink : sinks_) hooks.sinks.push_back(sink.get());
    hooks.progress = [this, told = hooks.progress](const Progress& progress) {
      if (folder_ && progress.steps_done > 0) folder_->replace();
      if (told) told(progress);
    };
    hooks.resume = resume_ ? &*resume_ : nullptr;
    hooks.keep_draws = recording_.keep == "draws";
    hooks.keep_floats = netcdf_ && recording_.single_precision && !recording_.has_format("csv");
    if (folder_)
      hooks.checkpoint = [this, what = about()](const Checkpoint& checkpoint) {
        write_checkpoint(folder_->checkpoint(), what, checkpoint);
      };
    hooks.checkpoint_seconds = recording_.checkpoint_seconds > 0 ? recording_.checkpoint_seconds : 1e300;
    Run run = run_chains(maker, settings_, hooks);
    if (folder_) folder_->replace();
    return run;
  } catch (const std::exception& problem) {
    run_json_["problem"] = problem.what();
    try {
      write_run_json("failed");
    } catch (const std::exception& error) {
      // A full disk, say: what went wrong first is what to end with. The word itself needs no room.
      const bool said = folder_ && detail::overwrite_status(*folder_, "failed");
      if (hooks.notes && !said) hooks.notes({error.what()});
    }
    throw;
  }
}

void Recorder::keep(const std::function<void(const RunFolder&)>& write) {
  try {
    if (folder_) write(*folder_);
  } catch (const Error&) {
    if (!trouble_) trouble_ = std::current_exception();
  }
}

void Recorder::rethrow() const {
  if (trouble_) std::rethrow_exception(trouble_);
}

void Recorder::close(const Run& run) {
  if (netcdf_) keep([&](const RunFolder&) { netcdf_->close(); });
  keep([&](const RunFolder& folder) { detail::write_warmup(folder, run); });
  keep([&](const RunFolder&) { write_run_json(detail::status_word(run.ending)); });
}

ordered_json Recorder::finish(const Run& run, const SampledDraws& sampled, std::size_t most) {
  ordered_json result = result_json(kind_, run, sampled.parameters, most);
  result["draws"] = sampled.draws;
  // Of thousands of others some always have chains apart by a little: they do not speak for the run.
  if (shown_ && *shown_ < sampled.parameters.size()) {
    const auto end = sampled.parameters.begin() + static_cast<std::ptrdiff_t>(*shown_);
    const WorstCase worst = worst_case({sampled.parameters.begin(), end});
    result["shown"] = {{"parameters", *shown_},
                       {"max_rhat", worst.rhat},
                       {"min_ess_bulk", worst.ess_bulk},
                       {"min_ess_tail", worst.ess_tail}};
  }
  result["status"] = detail::status_word(run.ending);
  for (const auto& [field, value] : found_.items()) result[field] = value;
  if (own_ && sampled.chains > 0) {
    result[own_->name()] = own_->result();
    keep([&](const RunFolder& folder) { own_->write(folder); });
  }
  if (moments_) keep([&](const RunFolder& folder) { write_moments(folder, *moments_); });
  keep([&](const RunFolder& folder) {
    write_file_atomically(folder.summary_json(), json_text(result, 1) + "\n");
  });
  return result;
}

}  // namespace onward
