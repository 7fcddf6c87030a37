#include "handles.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "../model/plugin.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/model/registry.hpp"

using namespace onward;

Model onward_model::make(const BuildFor& how) const {
  if (!density) return build(spec, how);
  Model model = detail::density_model(*density);
  model.spec.kind = spec.kind;
  if (!how.start.empty()) model.start = parse_start(how.start, spec.kind, model.dimension());
  return model;
}

Model& onward_model::here() {
  if (built) return *built;
  // Any run may come: all threads are for it.
  static const RunSettings any;
  BuildFor how = what_for;
  if (!density && !model_registry().find(spec.kind).depends_on_run) how.run = &any;
  built.emplace(make(how));
  return *built;
}

Model onward_model::take(const RunSettings& settings, const std::string& start) {
  const bool as_it_is =
      start.empty() && settings.threads == 0 && (density || !model_registry().find(spec.kind).depends_on_run);
  if (as_it_is) {
    Model& ready = here();
    // A sampler of the model's own takes its data, which are not to be in memory twice.
    if (!ready.own_sampler) return ready;
    Model model = std::move(ready);
    built.reset();
    return model;
  }
  built.reset();
  BuildFor how = what_for;
  how.run = &settings;
  how.start = start;
  return make(how);
}

onward_run::onward_run(onward_model& made_from, Model model, RunSettings settings, Recording recording)
    : model_json(model.to_json()),
      spec(made_from.spec),
      what_for(made_from.what_for),
      is_from_outside(made_from.density.has_value()),
      shown_(model.shown),
      words_(model.words),
      beyond_metrics_(model.beyond_metrics),
      thread_([this, model = std::move(model), settings = std::move(settings),
               recording = std::move(recording)]() mutable {
        sample(std::move(model), std::move(settings), recording);
      }) {}

onward_run::~onward_run() {
  stop = true;
  thread_.join();
}

void onward_run::sample(Model model, RunSettings settings, const Recording& recording) {
  std::optional<Recorded> recorded;
  std::exception_ptr trouble;
  try {
    Hooks hooks;
    hooks.stop = &stop;
    hooks.progress = [&](const Progress& p) {
      const std::lock_guard lock(mutex_);
      progress_ = {p.steps_done, p.steps_total, p.chains_warming, p.chains_sampling,  p.chains_done,
                   p.acceptance, p.seconds,     p.seconds_left,   p.steps_per_second, 0};
    };
    hooks.notes = [&](const std::vector<std::string>& notes) {
      const std::lock_guard lock(mutex_);
      notes_.insert(notes_.end(), notes.begin(), notes.end());
    };
    recorded = record(std::move(model), std::move(settings), recording, hooks);
  } catch (...) {
    trouble = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  recorded_ = std::move(recorded);
  trouble_ = trouble;
  has_ended_ = true;
  ended_.notify_all();
}

bool onward_run::wait(double seconds) {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return has_ended_; };
  if (seconds < 0)
    ended_.wait(lock, over);
  else
    ended_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e6)), over);
  return has_ended_;
}

const Recorded& onward_run::result() const {
  const std::lock_guard lock(mutex_);
  if (!has_ended_) throw UsageError("the run goes on: wait for it before you ask for its results");
  if (trouble_) std::rethrow_exception(trouble_);
  return *recorded_;
}

const std::vector<ParameterSummary>& onward_run::parameters() {
  if (!parameters_) parameters_ = summarise_draws(result().run).parameters;
  return *parameters_;
}

onward_progress onward_run::progress() {
  const std::lock_guard lock(mutex_);
  return progress_;
}

std::string onward_run::notes() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& note : notes_) text += note + "\n";
  return text;
}

namespace {

/// The codes of a factor, or true and false.
std::vector<std::uint32_t> codes_of(const onward_column& given) {
  std::vector<std::uint32_t> codes(given.rows);
  bool known = false;
  onward::detail::with_npy_type(given.type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      known = true;
      for (std::size_t i = 0; i < given.rows; ++i) {
        T code;
        std::memcpy(
            &code,
            static_cast<const std::byte*>(given.values) + static_cast<std::ptrdiff_t>(i) * given.stride,
            sizeof(T));
        codes[i] = std::cmp_less(code, 0) ? Column::missing_code : static_cast<std::uint32_t>(code);
      }
    }
  });
  if (!known)
    throw UsageError(
        fmt::format("the column {} has levels, and codes of type '{}': they must be whole numbers",
                    given.name, given.type));
  return codes;
}

}  // namespace

Table table_of(const onward_column* columns, std::size_t count) {
  std::vector<Column> made;
  for (const onward_column& given : std::span(columns, count)) {
    if (given.name == nullptr || given.type == nullptr || (given.values == nullptr && given.rows > 0))
      throw UsageError(fmt::format("column {} of the table lacks its name, type or values", made.size() + 1));
    for (std::size_t k = 0; k < given.level_count; ++k)
      if (given.levels == nullptr || given.levels[k] == nullptr)
        throw UsageError(fmt::format("level {} of the column {} has no name", k + 1, given.name));
    if (given.level_count > 0)
      made.push_back(
          Column::factor(given.name, codes_of(given), {given.levels, given.levels + given.level_count}));
    else if (std::string_view(given.type) == "|b1")
      made.push_back(Column::logical(given.name, codes_of(given)));
    else
      made.push_back(Column::view(given.name, given.type, static_cast<const std::byte*>(given.values),
                                  given.rows, given.stride));
  }
  return Table(std::move(made));
}
