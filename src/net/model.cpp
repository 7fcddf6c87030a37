#include "onward/net/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "model_data.hpp"
#include "model_memory.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/model/registry.hpp"
#include "onward/net/description_json.hpp"
#include "onward/net/prediction_sink.hpp"
#include "onward/net/weights.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/util/suggest.hpp"

namespace onward::net {
namespace {

using nlohmann::ordered_json;

/// Networks with more parameters than this are by default sampled in a fixed number of steps without a
/// metric.
constexpr std::size_t large_network = 1000;

void set_large_defaults(RunSettings& s) {
  // Sweeps of tens of thousands of steps, and metrics learned from them, are out of reach.
  if (s.sampler == choose_sampler_word) s.sampler = usual_sampler;
  if (!s.warmup) s.warmup = 1000;
  if (!s.thin) s.thin = 10;
  if (!s.metric) s.metric = MetricKind::none;
}

/// What is wrong with options that are right one by one.
void check_together(const OptionValues& given) {
  const bool x = given.has("x"), y = given.has("y"), data = given.has("data");
  if (data == (x || y) || x != y)
    throw UsageError(
        "net needs data of one kind: `x` FILE and `y` FILE, both of them, or `data` NAME and neither");
  if (data && given.has("pixel_mean"))
    throw UsageError("`pixel_mean` and `pixel_sd` go with `x`: the pixels of `data` have theirs");
  if (data && (given.has("test_x") || given.has("test_y")))
    throw UsageError("`test_x` and `test_y` go with `x` and `y`: `data` has test images of its own");
}

/// In messages: the file with the layers, or the field that has them.
std::string name_of_layers(const OptionValues& given) {
  const ordered_json& net = given.json().at("net");
  return net.is_string() ? net.get<std::string>() : "`net`";
}

Layout layout_of(const OptionValues& given) {
  const ordered_json& net = given.json().at("net");
  return net.is_string() ? read_layout(net.get<std::string>()) : layout_from_json(net, name_of_layers(given));
}

/// Answers are vectors, so the last layer must give one.
void check_output(const std::string& file, const Layout& layout) {
  const Shape& out = layout.output();
  if (out.height * out.width > 1)
    throw Error(
        fmt::format("{}: layer {}, the last one, gives images of {}: end the network with a flatten or a "
                    "linear layer",
                    file, layout.steps().size() - 1, to_string(out)));
}

GradientForm gradient_form(const OptionValues& given) {
  const std::string word = given.text("gradient");
  return word == "whole"        ? GradientForm::whole
         : word == "checkpoint" ? GradientForm::checkpoint
                                : GradientForm::pieces;
}

/// Whether it is a file of weights, rather than of all that is sampled.
bool is_weight_file(const std::string& word, const Layout& layout) {
  for (const char* of_pytorch : {".pt", ".pth"})
    if (word.ends_with(of_pytorch))
      throw UsageError(
          fmt::format("{} is a file of PyTorch's own, which is not read: write the weights by "
                      "safetensors.torch.save_file(model.state_dict(), \"weights.safetensors\")",
                      word));
  if (!word.ends_with(".npy")) return word.ends_with(".safetensors");
  return layout.statistic_count() > 0 || read_npy(word).size() == layout.parameter_count();
}

/// Weights that were given, or LeCun's law. Other starts are those of any model.
Start weights_start(const std::string& word, const Layout& layout, std::optional<StoredWeights> weights,
                    std::size_t dimension) {
  Start start{.kind = Start::Kind::given, .word = word};
  const std::size_t more = dimension - layout.parameter_count();  // log sigma: sigma starts at 1
  if (weights) {
    start.position = std::move(weights->parameters);
  } else {
    StartLaw law = lecun_law(layout);
    start.position = std::move(law.centre);
    start.spread = std::move(law.spread);
    start.spread.resize(start.spread.size() + more);
  }
  start.position.resize(start.position.size() + more);
  return start;
}

/// Whether a run is looked at by what the network predicts, rather than by its weights: wherever more than
/// one layer has weights, since units can then change places.
bool shows_predictions(const OptionValues& given, const Layout& layout) {
  if (given.has("show")) return given.text("show") == "predictions";
  return std::ranges::count_if(layout.steps(), [](const auto& step) { return step.end > step.begin; }) > 1;
}

/// What draws predict, and what that is worth.
class Predictions final : public ModelSink {
 public:
  Predictions(const NetworkPosterior& posterior, std::shared_ptr<const Sets> sets, std::size_t chains,
              const RunFolder* folder)
      : sets_(std::move(sets)),
        sigma_(posterior.options().known_sigma),
        sink_(posterior, sets_->test, sets_->test_answers, chains, folder) {}

  void warmed_up(std::size_t chain, double step_size, const Metric& metric) override {
    sink_.warmed_up(chain, step_size, metric);
  }
  void drawn(std::size_t chain, const Draw& draw) override { sink_.drawn(chain, draw); }
  void finished(std::size_t chain) override { sink_.finished(chain); }
  void transfer(std::size_t chain, Archive& archive) override { sink_.transfer(chain, archive); }

  std::string name() const override { return "predictions"; }

  ordered_json result() const override {
    const Predictive predictive = sink_.predictive();
    ordered_json json{{"of", sets_->own_rows ? "training" : "test"},
                      {"rows", predictive.rows()},
                      {"draws", predictive.draws()}};
    if (!predictive.has_answers()) return json;
    const Scores scores = predictive.scores();
    json["nll"] = scores.nll;
    if (scores.mse) json["rmse"] = std::sqrt(*scores.mse);
    if (scores.accuracy) json["accuracy"] = *scores.accuracy;
    if (scores.ece) json["ece"] = *scores.ece;
    return json;
  }

  std::string words() const override {
    const Predictive predictive = sink_.predictive();
    const auto counted = [](std::size_t n, const char* what) {
      return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    std::string text = fmt::format("predictions of {} by {}",
                                   counted(predictive.rows(), sets_->own_rows ? "training row" : "test row"),
                                   counted(predictive.draws(), "draw"));
    if (!predictive.has_answers()) return text;
    const Scores scores = predictive.scores();
    text += fmt::format(": NLL {:.4g}", scores.nll);
    if (scores.mse) text += fmt::format(", RMSE {:.4g}", std::sqrt(*scores.mse));
    if (scores.accuracy) text += fmt::format(", accuracy {:.4f}, ECE {:.4f}", *scores.accuracy, *scores.ece);
    return text;
  }

  void write(const RunFolder& folder) const override {
    const Predictive predictive = sink_.predictive();
    write_predictions(folder, predictive, predictive.width());
  }

  PredictedMeans means() const override {
    const Predictive predictive = sink_.predictive();
    return {predictive.rows(), predictive.width(), predictive.mean()};
  }

  std::optional<PredictedCurve> curve() const override;
  PredictedRows predicted_rows() const override;

 private:
  std::shared_ptr<const Sets> sets_;
  std::optional<double> sigma_;  // of the noise, if it is known
  PredictionSink sink_;
};

/// How a standardised number is turned back.
struct Unit {
  double mean = 0, sd = 1;
};

Unit unit_of(const Sets& sets, const char* which) {
  if (!sets.units.contains(which)) return {};
  const auto& unit = sets.units.at(which);
  return {unit.at("mean").at(0).get<double>(), unit.at("sd").at(0).get<double>()};
}

std::vector<double> places(const Inputs& inputs, const Unit& unit) {
  std::vector<float> values(inputs.count());
  inputs.read_channels_last(0, inputs.count(), values.data());
  std::vector<double> result;
  for (const float value : values) result.push_back(unit.mean + unit.sd * static_cast<double>(value));
  return result;
}

std::optional<PredictedCurve> Predictions::curve() const {
  const Predictive predictive = sink_.predictive();
  const bool classes = predictive.of_classes();
  if (sets_->test.shape().size() != 1 || predictive.width() != (classes ? 2 : 1)) return std::nullopt;
  const Unit x_unit = unit_of(*sets_, "x"), y_unit = classes ? Unit{} : unit_of(*sets_, "y");
  const auto mean = predictive.mean(), sd = predictive.sd();
  PredictedCurve curve{.x = places(sets_->test, x_unit),
                       .data_x = places(sets_->train.inputs, x_unit),
                       .label = "mean over draws",
                       .band_label = "1.645 sd between draws",
                       .y_label = classes ? "probability of the second class" : "y"};
  for (std::size_t row = 0; row < predictive.rows(); ++row) {
    const std::size_t entry = classes ? 2 * row + 1 : row;  // of two classes the second
    constexpr double from_mean = 1.645;                     // the 5% and 95% points of a normal
    const auto at = [&](double sds) { return y_unit.mean + y_unit.sd * (mean[entry] + sds * sd[entry]); };
    curve.middle.push_back(at(0));
    curve.low.push_back(classes ? std::max(at(-from_mean), 0.0) : at(-from_mean));
    curve.high.push_back(classes ? std::min(at(from_mean), 1.0) : at(from_mean));
  }
  const Answers& answers = sets_->train.answers;
  for (std::size_t row = 0; row < sets_->train.count(); ++row)
    curve.data_y.push_back(classes ? static_cast<double>(answers.label(row))
                                   : y_unit.mean + y_unit.sd * static_cast<double>(answers.row(row)[0]));
  return curve;
}

PredictedRows Predictions::predicted_rows() const {
  const Predictive predictive = sink_.predictive();
  PredictedRows rows{.classes = predictive.of_classes(),
                     .training = sets_->own_rows,
                     .rows = predictive.rows(),
                     .width = predictive.width(),
                     .sigma = sigma_};
  if (predictive.draws() > 0) {
    rows.mean = predictive.mean();
    rows.sd = predictive.sd();
  }
  if (const auto& answers = sets_->test_answers)
    for (std::size_t row = 0; row < rows.rows; ++row) {
      if (rows.classes)
        rows.answers.push_back(static_cast<double>(answers->label(row)));
      else
        for (std::size_t k = 0; k < rows.width; ++k)
          rows.answers.push_back(static_cast<double>(answers->row(row)[k]));
    }
  if (sets_->test.shape().size() != 1 || rows.width != (rows.classes ? 2U : 1U)) return rows;
  const Unit x_unit = unit_of(*sets_, "x"), y_unit = rows.classes ? Unit{} : unit_of(*sets_, "y");
  rows.y_mean = y_unit.mean;
  rows.y_sd = y_unit.sd;
  rows.x = places(sets_->test, x_unit);
  rows.data_x = places(sets_->train.inputs, x_unit);
  const Answers& given = sets_->train.answers;
  for (std::size_t row = 0; row < sets_->train.count(); ++row)
    rows.data_y.push_back(rows.classes ? static_cast<double>(given.label(row))
                                       : y_unit.mean + y_unit.sd * static_cast<double>(given.row(row)[0]));
  return rows;
}

/// What changes nothing in the run that the network is for.
std::vector<std::string> idle_options(const OptionValues& given, const RunSettings& run, const Needs& needs) {
  std::vector<std::string> notes;
  if (given.has("keep_activations") && !needs.keeps_activations)
    notes.emplace_back("`keep_activations` changes nothing without `directions` blocks or units");
  if (given.has("gradient") && run.sampler != choose_sampler_word &&
      !find_sampler(run.sampler).needs_gradient)
    notes.push_back(fmt::format("`gradient` changes nothing for {}", run.sampler));
  return notes;
}

/// Rows in the table: those that are wanted, or what fits a screen.
std::size_t shown_rows(const OptionValues& given, std::size_t outputs, std::size_t rows) {
  const auto wanted = given.count("show_rows");
  if (wanted && *wanted > rows)
    throw Error(fmt::format("`show_rows` {} was asked for and there are {}", *wanted, rows));
  return wanted.value_or(std::min(std::clamp<std::size_t>(50 / outputs, 1, 20), rows));
}

Model build_network(const OptionValues& given, const BuildFor& what_for) {
  check_together(given);
  const Layout layout = layout_of(given);
  check_output(name_of_layers(given), layout);
  check_parameters(layout);
  const std::string start = what_for.start.empty() ? "lecun" : what_for.start;
  check_start_word(start, std::array<std::string, 3>{"lecun", "zeros", "random"});
  std::optional<StoredWeights> weights;
  if (is_weight_file(start, layout)) weights = read_weights(start, layout);
  // Running statistics are part of the model; unless they are given they come with the weights to begin with.
  const bool normed = layout.statistic_count() > 0;
  const std::string statistics = !normed                   ? ""
                                 : given.has("statistics") ? given.text("statistics")
                                 : weights                 ? start
                                                           : "";
  auto network = std::make_shared<const Network>(
      statistics.empty()
          ? Network(layout)
          : Network(layout, statistics == start && weights ? weights->statistics
                                                           : read_weights(statistics, layout).statistics));
  const auto sets = std::make_shared<Sets>(read_sets(given, what_for, layout));
  const bool is_large = layout.parameter_count() > large_network;
  Needs needs;
  if (what_for.run != nullptr) {
    RunSettings run = *what_for.run;
    if (is_large) set_large_defaults(run);
    needs = needs_of(run);
  }
  PosteriorOptions options;
  options.prior_sd = given.number("prior_sd").value_or(options.prior_sd);
  options.known_sigma = given.number("sigma");
  options.piece = given.count("piece").value_or(0);
  options.gradient = gradient_form(given);
  const auto posterior = std::make_shared<const NetworkPosterior>(
      fit_posterior(given, needs, std::move(network), sets->train, options, nullptr));
  if (needs.for_mala) check_gradient_memory(given, needs, *posterior);

  const std::size_t rows = shown_rows(given, layout.output().size(), sets->test.count());
  Model model(shows_predictions(given, layout) ? AnyTarget(PredictionView(*posterior, sets->test.first(rows)))
                                               : AnyTarget(*posterior));
  if (weights || start == "lecun")
    model.start = weights_start(start, layout, std::move(weights), posterior->dimension());
  model.beyond_metrics = is_large;
  if (is_large) model.set_defaults = set_large_defaults;
  model.make_sink = [posterior, sets](std::size_t chains, const RunFolder* folder) {
    return std::make_unique<Predictions>(*posterior, sets, chains, folder);
  };
  model.notes = sets->notes;
  if (normed && statistics.empty())
    model.notes.emplace_back(
        "batch norms have no running statistics: they count on mean 0 and variance 1; a start from "
        "FILE.safetensors, or `statistics`, gives trained ones");
  if (what_for.run != nullptr)
    std::ranges::copy(idle_options(given, *what_for.run, needs), std::back_inserter(model.notes));

  ordered_json& filled_in = model.spec.options;
  filled_in["likelihood"] = sets->train.answers.are_labels() ? "softmax" : "gaussian";
  filled_in["images"] = sets->train.count();
  filled_in["prior_sd"] = options.prior_sd;
  // A chosen piece is no option: given back as one it would also be the gradient's, which has its own.
  if (!given.has("piece")) model.derived["piece"] = posterior->options().piece;
  if (!statistics.empty()) filled_in["statistics"] = statistics;
  if (!sets->units.is_null()) model.derived["standardised"] = sets->units;
  model.derived["layers"] = to_json(layout.description());
  return model;
}

std::vector<Option> describe_options() {
  using enum Option::Type;
  return {
      {.name = "net", .type = json, .help = "describes the layers, in JSON", .required = true},
      {.name = "data", .help = "images in place of `x` and `y`: " + joined(data_names())},
      {.name = "x", .type = array, .help = "the inputs, one row for each observation, in .npy"},
      {.name = "y", .type = array, .help = "the answers, in .npy"},
      {.name = "likelihood",
       .type = word,
       .help = "gaussian or softmax",
       .otherwise = "softmax if y holds whole numbers and the network has more than one output",
       .words = {"gaussian", "softmax"}},
      {.name = "images",
       .type = count,
       .help = "rows that are used, the first so many",
       .otherwise = "all",
       .least = 1},
      {.name = "test_x",
       .type = array,
       .help = "rows to predict, in .npy",
       .otherwise = "those of `x`; with `data` its test images"},
      {.name = "test_y", .type = array, .help = "their answers, for scores, in .npy"},
      {.name = "test_images",
       .type = count,
       .help = "rows that are predicted",
       .otherwise = "all; with `data` 1000",
       .least = 1},
      {.name = "standardise",
       .type = flag,
       .help = "x and y (or pixels) to mean 0 and sd 1; sigma and predictions are in these units"},
      {.name = "pixel_mean",
       .help = "bytes: a pixel p of a channel stands for (p/255 - mean) / sd; a mean for each channel, with "
               "commas",
       .otherwise = "0"},
      {.name = "pixel_sd", .help = "bytes: an sd for each channel, with commas", .otherwise = "1"},
      {.name = "prior_sd", .type = number, .help = "of every weight and bias", .otherwise = "1"},
      {.name = "sigma", .type = number, .help = "gaussian: sd of the noise", .otherwise = "sampled"},
      {.name = "statistics",
       .type = file,
       .help = "batch norms: running statistics, in .safetensors",
       .otherwise = "those of the weights that chains begin at"},
      {.name = "piece",
       .type = count,
       .help = "rows that pass through the layers at once; 0: chosen",
       .otherwise = "0"},
      {.name = "gradient",
       .type = word,
       .help = "mala: activations are kept for the whole data, pieces, or checkpoints of pieces",
       .otherwise = "pieces",
       .words = {"whole", "pieces", "checkpoint"},
       .for_runs = true},
      {.name = "show",
       .type = word,
       .help = "predictions or weights, in the table and the CSV files",
       .otherwise = "weights if but one layer has any",
       .words = {"predictions", "weights"},
       .for_runs = true},
      {.name = "show_rows",
       .type = count,
       .help = "predictions: how many rows the table and the CSV files have, the first so many",
       .otherwise = "what fits a screen",
       .least = 1,
       .for_runs = true},
      {.name = "keep_activations",
       .type = bytes,
       .help = "`directions` blocks or units: memory for activations below the layer that moves, such as 1G",
       .otherwise = "256M",
       .for_runs = true},
      {.name = "max_memory",
       .type = bytes,
       .help = "for activations and vectors, such as 300M: smaller pieces, or a refusal"},
  };
}

}  // namespace

NetworkPosterior posterior_of(const Model& model) {
  if (const auto* view = model.target.get_if<PredictionView>()) return view->posterior();
  if (const auto* posterior = model.target.get_if<NetworkPosterior>()) return *posterior;
  throw UsageError(fmt::format("the model {} is no network: it has no such posterior", model.spec.kind));
}

void register_models(ModelRegistry& registry) {
  registry.add({.name = "net",
                .summary = "a neural network, described by a JSON file, on arrays or images",
                .options = describe_options(),
                .depends_on_run = true,
                .has_arrays = true,
                .build = build_network});
}

}  // namespace onward::net
