// The functions of onward.h. Exceptions end here: each becomes a return code and a message.

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "guard.hpp"
#include "handles.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/netcdf_sink.hpp"
#include "onward/io/run_json.hpp"
#include "onward/model/registry.hpp"
#include "onward/run/setting_fields.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/suggest.hpp"
#include "onward/version.hpp"

#ifdef ONWARD_HAS_NET
#include "onward/net/model.hpp"
#endif

namespace {

using namespace onward;
using c_interface::guarded;
using c_interface::made;
using c_interface::parsed;
using nlohmann::ordered_json;

Array array_of(const onward_array& given) {
  c_interface::required(given.name, "name");
  c_interface::required(given.type, "type");
  if (given.rank > 0) c_interface::required(given.shape, "shape");
  Array array;
  array.shape.assign(given.shape, given.shape + given.rank);
  array.dtype = given.type;
  array.fortran_order = given.fortran_order != 0;
  std::size_t bytes = 0;
  detail::with_npy_type(array.dtype, [&](auto zero) { bytes = sizeof(zero) * array.size(); });
  array.bytes = {static_cast<const std::byte*>(given.values), bytes};
  return array;
}

ordered_json description_of(const Model& model) {
  const ParameterShapes shapes = model.parameters();
  ordered_json parameters = ordered_json::array();
  for (const NamedShape& variable : shapes.variables) {
    ordered_json one{{"name", variable.name}, {"shape", variable.shape}};
    if (!variable.dims.empty()) one["dims"] = variable.dims;
    if (!variable.coordinates.empty()) one["coordinates"] = variable.coordinates;
    parameters.push_back(std::move(one));
  }
  return {{"specification", model.spec.to_json()},
          {"dimension", model.dimension()},
          {"names", model.names},
          {"parameters", std::move(parameters)},
          {"order", shapes.order},
          {"notes", model.notes},
          {"words", model.words},
          {"has_gradient", model.target.has_gradient()}};
}

void describe(onward_model& model) {
  const Model& built = model.here();
  model.dimension = built.dimension();
  model.width = built.names.size();
  model.description = json_text(description_of(built));
  // With the checksums of its data: it is not built again from data that have changed.
  if (!model.density) model.spec = built.spec;
}

void register_networks() {
#ifdef ONWARD_HAS_NET
  static const bool once = (net::register_models(model_registry()), true);
  (void)once;
#endif
}

Recording recording_of(const ordered_json& json) {
  using enum Recording::Into;
  static constexpr std::pair<const char*, Recording::Into> ways[] = {
      {"fresh", fresh}, {"numbered", numbered}, {"replaced", replaced}, {"resumed", resumed}};
  Recording r;
  for (const auto& [field, value] : json.items()) {
    const auto wrong = [&, &field = field, &value = value](const char* wanted) {
      return UsageError(fmt::format("`{}` {} must be {}", field, value.dump(), wanted));
    };
    const auto text = [&] {
      if (!value.is_string()) throw wrong("text");
      return value.get<std::string>();
    };
    const auto flag = [&] {
      if (!value.is_boolean()) throw wrong("true or false");
      return value.get<bool>();
    };
    if (field == "folder") {
      r.folder = text();
    } else if (field == "into") {
      const std::string word = text();
      const auto* way = std::ranges::find(ways, word, [](const auto& w) { return std::string(w.first); });
      if (way == std::end(ways)) throw wrong("fresh, numbered, replaced or resumed");
      r.into = way->second;
    } else if (field == "format") {
      r.format = text();
    } else if (field == "keep") {
      r.keep = text();
    } else if (field == "single_precision") {
      r.single_precision = flag();
    } else if (field == "unconstrained") {
      r.unconstrained = flag();
    } else if (field == "log_likelihood") {
      r.log_likelihood = flag();
    } else if (field == "no_data") {
      r.no_data = flag();
    } else if (field == "checkpoint_seconds") {
      if (!value.is_number() || !(value.get<double>() >= 0)) throw wrong("a number of seconds, 0 or more");
      r.checkpoint_seconds = value.get<double>();
    } else {
      static const std::vector<std::string> known{"folder",
                                                  "into",
                                                  "format",
                                                  "keep",
                                                  "single_precision",
                                                  "unconstrained",
                                                  "log_likelihood",
                                                  "no_data",
                                                  "checkpoint_seconds"};
      throw UsageError(fmt::format("a recording has no field `{}`.{} Fields: {}", field,
                                   suggestion(field, known), joined(known)));
    }
  }
  return r;
}

const ChainRecord& chain_of(const onward_run& run, std::size_t chain) {
  const auto& chains = run.result().run.chains;
  if (chain >= chains.size())
    throw UsageError(fmt::format("there is no chain {}: they are numbered from 0, and there are {}", chain,
                                 chains.size()));
  return chains[chain];
}

const char* ending_word(Ending ending) {
  return ending == Ending::complete      ? "complete"
         : ending == Ending::interrupted ? "interrupted"
                                         : "time limit";
}

}  // namespace

extern "C" {

int onward_code(void) { return c_interface::last_code(); }

const char* onward_version(void) { return version.data(); }
const char* onward_message(void) { return c_interface::last_message().c_str(); }

onward_model* onward_model_build(const char* specification, const onward_array* arrays, size_t array_count,
                                 const onward_column* columns, size_t column_count) {
  return made([&] {
    register_networks();
    auto model = std::make_unique<onward_model>();
    model->spec = ModelSpec::from_json(parsed(specification, "the specification of a model"));
    for (const onward_array& given : std::span(arrays, array_count))
      model->what_for.arrays[given.name] = array_of(given);
    if (column_count > 0) model->what_for.tables.emplace("table", table_of(columns, column_count));
    describe(*model);
    return model;
  });
}

onward_model* onward_model_from(const char* name, const onward_density* density) {
  return made([&] {
    auto model = std::make_unique<onward_model>();
    model->spec.kind = c_interface::required(name, "name");
    model->density.emplace(*c_interface::required(density, "density"));
    describe(*model);
    return model;
  });
}

void onward_model_free(onward_model* model) { delete model; }
size_t onward_model_dimension(const onward_model* model) { return model->dimension; }
const char* onward_model_describe(onward_model* model) { return model->description.c_str(); }

int onward_model_jet(onward_model* model, const double* theta, const double* v, int order, double* out) {
  return guarded([&] {
    if (order < 0 || order > 2) throw UsageError(fmt::format("`order` {} must be 0, 1 or 2", order));
    if (order > 0) c_interface::required(v, "v");
    c_interface::required(theta, "theta");
    const std::size_t n = model->dimension;
    const Jet jet =
        model->here().target.jet({theta, n}, {v, v == nullptr ? 0 : n}, static_cast<Order>(order));
    out[0] = jet.value, out[1] = jet.slope, out[2] = jet.curvature;
  });
}

int onward_model_gradient(onward_model* model, const double* theta, double* value, double* out) {
  return guarded([&] {
    const std::size_t n = model->dimension;
    *value = model->here().target.gradient({theta, n}, {out, n});
  });
}

int onward_model_constrain(onward_model* model, const double* theta, double* out) {
  return guarded([&] { model->here().target.constrain({theta, model->dimension}, {out, model->width}); });
}

onward_run* onward_run_start(onward_model* model, const char* settings, const char* recording) {
  return made([&] {
    RunSettings s = settings_from_json(parsed(settings, "the settings of a run"));
    Recording r = recording_of(parsed(recording, "the recording of a run"));
    const std::string start = std::exchange(s.start.word, {});
    if (!start.empty()) s.start = {};
    Model sampled = model->take(s, start);
    r.check(sampled.spec.kind);
    if (r.has_format("netcdf")) silence_hdf5();
    r.summarise = !r.folder.empty();  // else it is done when somebody asks
    check_choosable(s);
    return std::make_unique<onward_run>(*model, std::move(sampled), std::move(s), std::move(r));
  });
}

int onward_run_wait(onward_run* run, double seconds) {
  if (!run->wait(seconds)) return 1;
  return -guarded([&] { run->result(); });
}

void onward_run_stop(onward_run* run) { run->stop = true; }
void onward_run_free(onward_run* run) { delete run; }
void onward_run_progress(onward_run* run, onward_progress* out) { *out = run->progress(); }
const char* onward_run_notes(onward_run* run) {
  run->shown_notes = run->notes();
  return run->shown_notes.c_str();
}

size_t onward_run_chains(const onward_run* run) {
  std::size_t chains = 0;
  guarded([&] { chains = run->result().run.chains.size(); });
  return chains;
}

size_t onward_run_draws(const onward_run* run, size_t chain) {
  std::size_t draws = 0;
  guarded([&] { draws = chain_of(*run, chain).draws; });
  return draws;
}

size_t onward_run_width(const onward_run* run) {
  std::size_t width = 0;
  guarded([&] { width = run->result().run.names.size(); });
  return width;
}

int onward_run_values(const onward_run* run, size_t chain, double* out) {
  return guarded([&] { std::ranges::copy(chain_of(*run, chain).values, c_interface::required(out, "out")); });
}

int onward_run_log_density(const onward_run* run, size_t chain, double* out) {
  return guarded(
      [&] { std::ranges::copy(chain_of(*run, chain).log_density, c_interface::required(out, "out")); });
}

int onward_run_statistic(const onward_run* run, size_t chain, const char* name, double* out) {
  return guarded([&] {
    const ChainRecord& record = chain_of(*run, chain);
    const std::string wanted = c_interface::required(name, "name");
    c_interface::required(out, "out");
    static const std::map<std::string, double (*)(const TrajectoryInfo&)> known{
        {"tree_depth", [](const TrajectoryInfo& t) { return static_cast<double>(t.depth); }},
        {"n_steps", [](const TrajectoryInfo& t) { return static_cast<double>(t.leapfrogs); }},
        {"diverging", [](const TrajectoryInfo& t) { return t.divergent ? 1.0 : 0.0; }},
        {"energy", [](const TrajectoryInfo& t) { return t.energy; }}};
    const auto number = known.find(wanted);
    if (number == known.end())
      throw UsageError(fmt::format(
          "there is no statistic '{}': they are tree_depth, n_steps, diverging and energy", wanted));
    if (record.followed.size() != record.draws)
      throw Error(fmt::format("the sampler {} follows no trajectories, so it has no {}",
                              run->result().run.settings.sampler, wanted));
    std::ranges::transform(record.followed, out, number->second);
  });
}

int onward_run_follows(const onward_run* run) {
  bool follows = false;
  guarded([&] { follows = find_sampler(run->result().run.settings.sampler).follows_trajectories; });
  return follows ? 1 : 0;
}

const char* onward_run_summary(onward_run* run, size_t most_parameters) {
  return c_interface::text(run->summary, [&] {
    const Recorded& recorded = run->result();
    ordered_json json = recorded.summary;
    json["ending"] = ending_word(recorded.run.ending);
    json["folder"] = recorded.folder.string();
    if (most_parameters > 0) {
      const auto& rows = run->parameters();
      const ordered_json all = result_json("", recorded.run, rows, most_parameters);
      for (const char* field : {"max_rhat", "min_ess_bulk", "min_ess_tail", "parameters"})
        if (all.contains(field))
          json[field] = all[field];
        else
          json.erase(field);
      json["warnings"] = run->warnings();
      json["notes"] = recorded.run.notes();
    } else {
      json.erase("parameters");
    }
    return json_text(json);
  });
}

const char* onward_run_table(onward_run* run) {
  return c_interface::text(run->table, [&] { return run->table_text(); });
}

int onward_run_save(onward_run* run, const char* folder, int replace) {
  return guarded([&] {
    save_with_model(run->result().run, c_interface::required(folder, "folder"), run->model_json,
                    replace != 0);
  });
}

}  // extern "C"
