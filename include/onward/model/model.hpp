#pragma once
// From a specification to a model: what is to be sampled, in plain data, and what was built from it.
//
//     auto model = onward::build({"glm", {{"x", "x.npy"}, {"y", "y.npy"}, {"family", "poisson"}}});
//     auto run = onward::sample(std::move(model), {.draws = 1000, .seed = 1});
//
// Arrays may be in memory instead, where a specification names them:
//
//     auto model = onward::build({"glm", {{"x", "memory:x"}, {"y", "memory:y"}, {"family", "poisson"}}},
//                                {.arrays = {{"x", Array::of(x, {100, 3})}, {"y", Array::of(y)}}});
//
// Kinds of models are in a registry (registry.hpp).

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/io/array.hpp"
#include "onward/io/named_arrays.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/run/chain.hpp"
#include "onward/run/run.hpp"
#include "onward/table/table.hpp"
#include "onward/target/reported.hpp"
#include "onward/target/target.hpp"
#include "onward/util/option.hpp"

namespace onward {

/// What a model is, as run.json keeps it: everything needed to build it again.
struct ModelSpec {
  std::string kind = {};  ///< "funnel", "glm", ...
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  /// Size and checksum of each file that was read, by its path, and shape, type and checksum of each array
  /// that was in memory, by memory:NAME. Where these are given, build() refuses what has changed.
  nlohmann::ordered_json files = nlohmann::ordered_json::object();

  /// One flat object: "name" is the kind, then the options, then "files" if there are any.
  nlohmann::ordered_json to_json() const;
  /// From such an object; "derived", which run.json has besides, is passed over. Throws UsageError if it is
  /// not such an object; the options are checked when the model is built.
  static ModelSpec from_json(const nlohmann::ordered_json& json);
};

/// What draws predict over one input, for a picture.
struct PredictedCurve {
  std::vector<double> x = {}, middle = {}, low = {}, high = {};
  std::vector<double> data_x = {}, data_y = {};
  std::string label, band_label, y_label;
};

/// Means over draws, row after row.
struct PredictedMeans {
  std::size_t rows = 0, width = 0;
  std::vector<double> values = {};
};

/// The rows that a model predicts: what draws say of them, and what is known of them.
struct PredictedRows {
  bool classes = false;   ///< the answers are classes, numbered from 0, and not numbers
  bool training = false;  ///< the model was fitted to these very rows
  std::size_t rows = 0;
  std::size_t width = 1;                   ///< outputs of a row: numbers, or probabilities of classes
  std::vector<double> mean = {}, sd = {};  ///< over draws, row after row, noise left out; empty without draws
  std::vector<double> answers =
      {};  ///< a class for each row, or `width` numbers; empty if they are not known
  std::optional<double> sigma = {};  ///< sd of the noise, if it was given
  std::vector<double> x = {};        ///< of the rows, if there is one input alone
  std::vector<double> data_x = {},
                      data_y = {};  ///< what the model was fitted to, if there is one input alone
  double y_mean = 0, y_sd = 1;      ///< turn standardised numbers back; data_y is turned back already
};

/// What a model wants to hear of the draws, and has to say when they are done: a network's predictions, say.
class ModelSink : public Sink {
 public:
  /// What it is called among a run's results, such as "predictions".
  virtual std::string name() const = 0;
  /// Of all draws of all chains so far, at least one.
  virtual nlohmann::ordered_json result() const = 0;
  virtual std::string words() const = 0;  ///< the same in a line
  virtual void write(const RunFolder& folder) const = 0;
  virtual PredictedMeans means() const { return {}; }
  /// All that is known of the rows; before the first draw, what is known without one.
  virtual PredictedRows predicted_rows() const { return {}; }
  /// Nothing if there is not one input alone.
  virtual std::optional<PredictedCurve> curve() const { return std::nullopt; }
};

/// A sampler that only this model has.
struct OwnSampler {
  std::string name;  ///< in settings
  /// May take the model's data for itself: nobody else should hold the target then.
  std::function<std::unique_ptr<ChainMaker>(const RunSettings&)> make;
};

/// What is to be sampled, with everything that a run, a file or a table needs to know of it.
struct Model {
  ModelSpec spec;  ///< with what was chosen filled in, and the checksums of files
  AnyTarget target;
  std::vector<std::string> names;              ///< of what is reported
  std::vector<std::size_t> name_indices = {};  ///< see csv_names
  /// What is reported as arrays, where the names alone do not tell: with dimensions that have names.
  std::optional<ParameterShapes> arrays = {};
  std::vector<DataArray> data = {};  ///< that it was built from
  /// Asked for before chains are made: it may share the model's data, which its sampler then copies.
  std::function<LogLikelihood()> log_likelihood = {};
  Start start = {};                            ///< where chains begin unless they are told
  std::optional<OwnSampler> own_sampler = {};  ///< taken unless another is named
  std::vector<std::string> notes = {};         ///< what the user should know of data and options
  /// How many of the names a table shows unless it is asked for all: the rest are effects of groups, say.
  std::optional<std::size_t> shown = {};
  std::vector<std::string> words = {};  ///< lines that belong under the table, such as the priors
  nlohmann::ordered_json derived = {};  ///< what data and options came to; null if there is nothing
  /// Fills in what settings leave open.
  std::function<void(RunSettings&)> set_defaults = {};
  std::function<std::unique_ptr<ModelSink>(std::size_t chains, const RunFolder* folder)> make_sink = {};
  /// Looks at the data before a kernel samples them, as the model's own sampler does by itself: gives notes,
  /// throws Error if the posterior cannot be normalised.
  std::function<std::vector<std::string>()> check_data = {};
  /// Too large for warm-up to learn a metric: advice to try another is out of place.
  bool beyond_metrics = false;

  /// Any target. What is a Model is copied: to ask whether it is a target would ask that first.
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Model>) explicit Model(T density)
      : target(std::move(density)), names(target.names()) {
    if constexpr (requires(const T& t) { t.observations(); })
      set_observations(target.get_if<T>()->observations());
  }

  std::size_t dimension() const { return target.dimension(); }
  /// What is reported, as arrays by name and shape.
  ParameterShapes parameters() const { return arrays ? *arrays : parameter_shapes(names, name_indices); }
  /// What is sampled, as arrays: by the target's blocks, or as what is reported, or as one vector `position`.
  ParameterShapes free_parameters() const;
  /// Whether these settings mean the model's own sampler.
  bool samples_itself(const RunSettings& settings) const;
  /// For run.json: the specification, and "derived".
  nlohmann::ordered_json to_json() const;

 private:
  void set_observations(const ObservationLikelihood* observations);
};

/// What building a model may depend on besides its specification.
struct BuildFor {
  /// The run that it is for, as far as it is known: how much memory chains need decides what networks do.
  /// Without it the model is evaluated alone, or sampled in some way or other.
  const RunSettings* run = nullptr;
  /// Where chains begin, in words: zeros, random[:SCALE], a file, or what else a kind knows; empty: the
  /// kind's own choice.
  std::string start = {};
  bool checksums = true;  ///< of files and arrays: they are read once more for that
  /// Arrays in memory, by the names that options call them: memory:NAME.
  std::map<std::string, Array> arrays = {};
  /// Tables in memory, likewise.
  std::map<std::string, Table> tables = {};

  /// What an option of type array names. Throws Error if it is an array in memory that is not among these.
  ArraySource array(const OptionValues& options, const std::string& field) const;
  /// The table in memory that an option of type table names, or null if it names a file. Throws as array().
  const Table* table(const OptionValues& options, const std::string& field) const;
};

/// By the registry of this process (registry.hpp). Throws UsageError for a specification that makes no sense,
/// Error for files that cannot be read or hold what does not fit.
Model build(const ModelSpec& spec, const BuildFor& what_for = {});

/// The start that is meant by zeros, random, random:SCALE or the name of a file (a JSON array or .npy) with
/// an entry for each of `dimension` parameters. Throws UsageError, Error for a file that cannot be read.
Start parse_start(const std::string& words, const std::string& model, std::size_t dimension);
/// Throws UsageError if a word of a start is no file, and nearly one that is known.
void check_start_word(const std::string& word, std::span<const std::string> known);
/// A file with an entry for every parameter that is sampled; throws as parse_start.
std::vector<double> read_place(const std::string& file, const std::string& model, std::size_t dimension);

/// The chains of a run on this model: by its own sampler where it has one and the settings mean it, else by a
/// kernel on its target. Afterwards the model is good for its description alone.
std::unique_ptr<ChainMaker> make_chains(Model& model, const RunSettings& settings);

/// Samples a model, from its own start unless the settings have another than the default. Throws as sample()
/// of a target.
Run sample(Model model, RunSettings settings = {}, const Hooks& hooks = {});

}  // namespace onward
