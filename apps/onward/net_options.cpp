#include "net_options.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model_options.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/data/load.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/net/description_json.hpp"
#include "onward/net/weights.hpp"
#include "onward/util/memory.hpp"
#include "onward/util/suggest.hpp"

namespace onward::app {
namespace {

using net::Answers;
using net::Inputs;
using net::Layout;
using net::Shape;
using nlohmann::ordered_json;

/// Mean and sd of a column or a channel.
struct Unit {
  double mean = 0, sd = 1;
};

/// Of columns of `values`, rows of `width`; a column that does not vary keeps its size.
std::vector<Unit> units_of(const std::vector<float>& values, std::size_t width) {
  const std::size_t rows = values.size() / width;
  std::vector<Unit> units(width);
  for (std::size_t j = 0; j < width; ++j) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += static_cast<double>(values[i * width + j]);
    const double mean = sum / static_cast<double>(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const double away = static_cast<double>(values[i * width + j]) - mean;
      squares += away * away;
    }
    const double sd = std::sqrt(squares / static_cast<double>(rows));
    units[j] = {mean, sd > 0 ? sd : 1};
  }
  return units;
}

void to_units(const std::vector<Unit>& units, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Unit& unit = units[i % units.size()];
    values[i] = static_cast<float>((static_cast<double>(values[i]) - unit.mean) / unit.sd);
  }
}

ordered_json units_json(const std::vector<Unit>& units) {
  ordered_json json{{"mean", ordered_json::array()}, {"sd", ordered_json::array()}};
  for (const Unit& unit : units) {
    json["mean"].push_back(unit.mean);
    json["sd"].push_back(unit.sd);
  }
  return json;
}

/// An array whose first index counts rows, with no more rows than wanted.
struct Rows {
  std::string option, file;
  NpyArray array;
  std::size_t count = 0, each = 1;  // rows, and entries of one

  Rows(std::string option_name, const std::string& file_name, std::optional<std::size_t> wanted)
      : option(std::move(option_name)), file(file_name), array(read_npy(file_name)) {
    if (array.shape.empty())
      throw Error(fmt::format("{} {} holds one number: it must hold a row an observation", option, file));
    if (array.fortran_order && array.shape.size() > 1)
      throw Error(
          fmt::format("{} {} is stored column by column: store it by rows, as "
                      "numpy.save(file, numpy.ascontiguousarray(array)) does",
                      option, file));
    count = array.shape[0];
    for (std::size_t i = 1; i < array.shape.size(); ++i) each *= array.shape[i];
    if (count == 0) throw Error(fmt::format("{} {} has no rows: it must have at least one", option, file));
    if (wanted && *wanted < count) count = *wanted;
  }

  bool bytes() const { return array.dtype == "|u1"; }
  bool whole_numbers() const {
    return array.dtype[1] == 'i' || array.dtype[1] == 'u' || array.dtype[1] == 'b';
  }

  /// "3x28x28", as a network's shapes are written.
  std::string row_shape() const {
    if (array.shape.size() == 1) return "1";
    return fmt::format("{}", fmt::join(array.shape.begin() + 1, array.shape.end(), "x"));
  }

  std::vector<float> floats() const {
    std::vector<float> values(count * each);
    array.visit([&](const auto& stored) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(stored[i]);
    });
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw Error(
            fmt::format("{} {}: row {} (counted from 1) has the entry {}: every entry must be a finite "
                        "number",
                        option, file, i / each + 1, values[i]));
    return values;
  }
};

/// Throws unless rows of the array can be the network's inputs: the same shape, or as many entries flat.
void check_input(const Rows& rows, const Layout& layout) {
  const Shape& in = layout.input();
  std::vector<std::size_t> shape(rows.array.shape.begin() + 1, rows.array.shape.end());
  const bool flat = shape.size() <= 1 || (in.height == 1 && in.width == 1);
  if (shape.size() == 2) shape.insert(shape.begin(), 1);  // images of one channel
  const bool same = flat ? rows.each == in.size() : shape == std::vector{in.channels, in.height, in.width};
  const bool channels_last = shape == std::vector{in.height, in.width, in.channels};
  if (!same)
    throw Error(
        fmt::format("{} {} has rows of {}, but the network takes {}{}", rows.option, rows.file,
                    rows.row_shape(), to_string(in),
                    channels_last ? ": channels come first, as array.transpose(0, 3, 1, 2) puts them" : ""));
}

/// A mean and an sd for each channel of what the network takes: for a vector, each pixel has its channel's.
net::Normalisation by_channel(const std::vector<Unit>& units, const Shape& in, std::size_t pixels_a_channel) {
  net::Normalisation result;
  const std::size_t repeat = in.height == 1 && in.width == 1 ? pixels_a_channel : 1;
  for (const Unit& unit : units)
    for (std::size_t i = 0; i < repeat; ++i) {
      result.mean.push_back(static_cast<float>(unit.mean));
      result.sd.push_back(static_cast<float>(unit.sd));
    }
  return result;
}

/// Of channels of pixels, in units of 255.
std::vector<Unit> units_of_pixels(std::span<const std::uint8_t> pixels, std::size_t channels,
                                  std::size_t plane) {
  std::vector<Unit> units;
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0, count = 0;
    for (std::size_t begin = c * plane; begin < pixels.size(); begin += channels * plane)
      for (std::size_t i = begin; i < begin + plane; ++i) {
        sum += pixels[i];
        squares += static_cast<double>(pixels[i]) * pixels[i];
        ++count;
      }
    const double mean = sum / count, variance = std::max(0.0, squares / count - mean * mean);
    units.push_back({mean / 255, variance > 0 ? std::sqrt(variance) / 255 : 1});
  }
  return units;
}

/// Inputs from an array. Units are found if there are none yet and they are wanted, and used if there are.
Inputs make_inputs(const Rows& rows, const Layout& layout, bool standardise, std::vector<Unit>& units) {
  check_input(rows, layout);
  const Shape& in = layout.input();
  if (rows.bytes()) {
    const bool images = rows.array.shape.size() >= 3;
    const std::size_t channels = !images ? in.size() : rows.array.shape.size() == 4 ? rows.array.shape[1] : 1;
    const std::size_t plane = rows.each / channels;
    const auto pixels = rows.array.as<std::uint8_t>().first(rows.count * rows.each);
    if (units.empty())
      units = standardise ? units_of_pixels(pixels, channels, plane) : std::vector<Unit>(channels);
    return Inputs::pixels(in, {pixels.begin(), pixels.end()}, by_channel(units, in, plane));
  }
  auto values = rows.floats();
  if (standardise && units.empty()) units = units_of(values, rows.each);
  if (standardise) to_units(units, values);
  return Inputs::values(in, std::move(values));
}

/// Whole numbers are classes, unless there is but one output to tell them by.
bool is_classes(const NetWords& words, const Rows& y, const Layout& layout) {
  const std::size_t outputs = layout.output().size();
  if (words.likelihood == "softmax" && outputs == 1)
    throw UsageError("--likelihood softmax needs an output for each class, and the network has one output");
  if (words.likelihood == "softmax") return true;
  return words.likelihood.empty() && y.whole_numbers() && outputs > 1;
}

Answers make_answers(const Rows& y, const Layout& layout, bool classes, bool standardise,
                     std::vector<Unit>& units) {
  const std::size_t outputs = layout.output().size();
  if (!classes) {
    if (y.each != outputs)
      throw Error(fmt::format("{} {} has rows of {}, but the network gives {}{}", y.option, y.file,
                              y.row_shape(), to_string(layout.output()),
                              y.each == 1 ? ": if these are classes, add --likelihood softmax" : ""));
    auto values = y.floats();
    if (standardise && units.empty()) units = units_of(values, y.each);
    if (standardise) to_units(units, values);
    return Answers::values(outputs, std::move(values));
  }
  constexpr std::size_t most_classes = 256;
  if (y.each != 1)
    throw Error(fmt::format("{} {} has rows of {}: a class is one number", y.option, y.file, y.row_shape()));
  if (outputs > most_classes)
    throw Error(fmt::format("the network tells {} classes apart: {} are the most", outputs, most_classes));
  std::vector<std::uint8_t> labels;
  const auto values = y.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!(value >= 0 && value < static_cast<float>(outputs)) || value != std::floor(value))
      throw Error(
          fmt::format("{} {}: row {} (counted from 1) has the class {}: the network tells classes 0 to {} "
                      "apart",
                      y.option, y.file, i + 1, value, outputs - 1));
    labels.push_back(static_cast<std::uint8_t>(value));
  }
  return Answers::labels(outputs, labels);
}

void same_rows(const Rows& x, const Rows& y) {
  if (x.array.shape[0] != y.array.shape[0])
    throw Error(fmt::format("{} {} has {} rows and {} {} has {}: they must be as many", x.option, x.file,
                            x.array.shape[0], y.option, y.file, y.array.shape[0]));
}

void enough(const std::string& option, std::optional<std::size_t> wanted, std::size_t there) {
  if (wanted && *wanted > there)
    throw Error(fmt::format("{} {} was asked for and there are {}", option, *wanted, there));
}

/// What training and test data there are.
struct Sets {
  net::Data train;
  Inputs test;
  std::optional<Answers> test_answers;
  bool own_rows = true;
  ordered_json units;
  std::vector<std::string> notes;
};

Sets from_files(const NetWords& words, const GlmWords& shared, const Layout& layout) {
  const Rows x("--x", shared.x, words.images), y("--y", shared.y, words.images);
  same_rows(x, y);
  enough("--images", words.images, x.array.shape[0]);
  const bool classes = is_classes(words, y, layout);
  std::vector<Unit> x_units, y_units;
  net::Data train{make_inputs(x, layout, words.standardise, x_units),
                  make_answers(y, layout, classes, words.standardise, y_units)};
  Sets sets{train, train.inputs, train.answers, true, {}, {}};
  if (!classes && y.whole_numbers() && words.likelihood.empty())
    sets.notes.emplace_back(
        "y holds whole numbers and the network has one output: they are taken for numbers with Gaussian "
        "noise; for classes give the network an output for each");
  if (words.standardise) {
    sets.units["x"] = units_json(x_units);
    if (!classes) sets.units["y"] = units_json(y_units);
  }
  if (!words.test_y.empty() && words.test_x.empty())
    throw UsageError("--test-y goes with --test-x: give both or neither");
  if (!words.test_x.empty()) {
    const Rows test_x("--test-x", words.test_x, words.test_images);
    enough("--test-images", words.test_images, test_x.array.shape[0]);
    if (test_x.bytes() != x.bytes())
      throw Error(
          fmt::format("--x {} and --test-x {} are of types {} and {}: either both or none may be bytes",
                      x.file, test_x.file, x.array.dtype, test_x.array.dtype));
    sets.test = make_inputs(test_x, layout, words.standardise, x_units);
    sets.test_answers.reset();
    sets.own_rows = false;
    if (!words.test_y.empty()) {
      const Rows test_y("--test-y", words.test_y, words.test_images);
      same_rows(test_x, test_y);
      sets.test_answers = make_answers(test_y, layout, classes, words.standardise, y_units);
    }
  } else if (words.test_images) {
    throw UsageError("--test-images says how many of --test-x or of --data: give one of them");
  }
  return sets;
}

struct NamedData {
  TrainAndTest (*load)(const std::filesystem::path&);
  std::vector<Unit> units;
};

const std::map<std::string, NamedData>& named_data() {
  static const std::map<std::string, NamedData> all{
      {"mnist", {load_mnist, {{0.1307, 0.3081}}}},
      {"fashion-mnist", {load_fashion_mnist, {{0.2860, 0.3530}}}},
      {"cifar10", {load_cifar10, {{0.4914, 0.2470}, {0.4822, 0.2435}, {0.4465, 0.2616}}}},
  };
  return all;
}

net::Data image_rows(LabelledImages images, std::size_t count, const std::string& name, const Layout& layout,
                     const std::vector<Unit>& units) {
  const Shape &in = layout.input(), shape{images.channels, images.height, images.width};
  const bool flat = in.height == 1 && in.width == 1 && in.channels == shape.size();
  if (!flat && in != shape)
    throw Error(
        fmt::format("images of {} are {}, but the network takes {}", name, to_string(shape), to_string(in)));
  images.pixels.resize(count * images.pixels_each());
  images.pixels.shrink_to_fit();
  images.labels.resize(count);
  return {Inputs::pixels(in, std::move(images.pixels), by_channel(units, in, images.height * images.width)),
          Answers::labels(layout.output().size(), images.labels)};
}

Sets from_name(const NetWords& words, const Layout& layout) {
  std::vector<std::string> names;
  for (const auto& [name, data] : named_data()) names.push_back(name);
  const auto found = named_data().find(words.data);
  if (found == named_data().end())
    throw UsageError(fmt::format("--data '{}' is not known.{} It is one of {}; other data by --x and --y",
                                 words.data, suggestion(words.data, names), joined(names)));
  if (words.likelihood == "gaussian")
    throw UsageError("--likelihood gaussian: images of --data have classes, whose likelihood is softmax");
  TrainAndTest both = found->second.load({});
  enough("--images", words.images, both.train.count());
  enough("--test-images", words.test_images, both.test.count());
  constexpr std::size_t usual_test = 1000;  // predictions of all would cost as much as a step, or more
  const std::size_t images = words.images.value_or(both.train.count());
  const std::size_t test_images = words.test_images.value_or(std::min(usual_test, both.test.count()));
  auto train = image_rows(std::move(both.train), images, words.data, layout, found->second.units);
  auto test = image_rows(std::move(both.test), test_images, words.data, layout, found->second.units);
  return {std::move(train), std::move(test.inputs), std::move(test.answers), false, {}, {}};
}

net::GradientForm parse_gradient(const std::string& word) {
  if (word == "whole") return net::GradientForm::whole;
  if (word == "pieces") return net::GradientForm::pieces;
  if (word == "checkpoint") return net::GradientForm::checkpoint;
  throw UsageError(fmt::format("--gradient '{}' is not known.{} It is whole, pieces or checkpoint", word,
                               suggestion(word, std::vector<std::string>{"whole", "pieces", "checkpoint"})));
}

/// Of whatever a kernel may ask for; where a chain starts, the whole jet is asked for.
std::size_t jet_bytes(const NetWords& words, const net::Posterior& posterior) {
  const std::size_t whole = posterior.jet_bytes(Order::curvature);
  return words.in_pairs ? std::max(posterior.jet_bytes(Order::slope), whole) : whole;
}

/// About what a run takes besides its data: the vectors of each chain's state and kernel and what it
/// evaluates with, and for all of them where they start and what they last were.
double run_bytes(const NetWords& words, const net::Posterior& posterior, double evaluation) {
  const double vector = sizeof(double) * static_cast<double>(posterior.dimension());
  return 3 * vector + static_cast<double>(words.chains) * (words.vectors * vector + evaluation);
}

/// Throws unless the vectors of one chain can be there at all, before anything of that size is made.
void check_parameters(const Layout& layout) {
  const double bytes = 12.0 * sizeof(double) * static_cast<double>(layout.parameter_count());
  if (bytes > machine_bytes())
    throw Error(
        fmt::format("the network has {} parameters: to sample them would take {} of this machine's {}",
                    layout.parameter_count(), shown_bytes(bytes), shown_bytes(machine_bytes())));
}

/// With pieces small enough for --max-memory, if those are left to us, and with what it leaves for
/// activations.
net::Posterior make_posterior(const NetWords& words, std::shared_ptr<const net::Network> network,
                              const net::Data& data, net::PosteriorOptions options,
                              std::shared_ptr<ThreadPool> pool) {
  const auto make = [&] { return net::Posterior(network, data, options, pool); };
  const double keep =
      words.keep.empty() ? words.keep_otherwise : parse_memory("--keep-activations", words.keep);
  options.kept_activations_bytes = static_cast<std::size_t>(keep);
  net::Posterior posterior = make();
  const double asked = words.keep.empty() ? 0 : keep;
  const auto needed = [&] {
    // Of the whole data it does not depend on pieces: check_gradient_memory() tells what to do instead.
    const bool by_pieces = words.for_mala && options.gradient != net::GradientForm::whole;
    const std::size_t gradient = by_pieces ? posterior.gradient_bytes(options.gradient) : 0;
    return run_bytes(words, posterior, static_cast<double>(jet_bytes(words, posterior) + gradient) + asked);
  };
  const auto what = [&] {
    return fmt::format("{} parameters, {} and pieces of {}", posterior.dimension(),
                       counted(words.chains, "chain"), counted(posterior.options().piece, "row"));
  };
  if (words.memory.empty()) {
    if (needed() > machine_bytes())
      throw Error(
          fmt::format("{} would take {} of this machine's {}: give fewer --chains, a smaller --piece, or a "
                      "--max-memory to choose it by",
                      what(), shown_bytes(needed()), shown_bytes(machine_bytes())));
    return posterior;
  }
  const double limit = parse_memory("--max-memory", words.memory);
  if (needed() > limit) {  // what only saves time goes first
    options.known_values_bytes = 0;
    if (asked == 0) options.kept_activations_bytes = 0;
    posterior = make();
  }
  while (needed() > limit && words.piece == 0 && posterior.options().piece > 1) {
    options.piece = posterior.options().piece / 2;
    posterior = make();
  }
  const auto chains = static_cast<double>(words.chains);
  if (needed() > limit)
    throw Error(fmt::format(
        "--max-memory {} is too little: {} take {}{}{}", words.memory, what(), shown_bytes(needed()),
        asked > 0 ? fmt::format(", {} of it for --keep-activations", shown_bytes(chains * asked)) : "",
        words.piece > 1 ? "; without --piece smaller ones are taken" : ""));
  if (asked == 0 && keep > (limit - needed()) / chains) {
    options.kept_activations_bytes = static_cast<std::size_t>((limit - needed()) / chains);
    posterior = make();
  }
  return posterior;
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

Start make_start(const std::string& option, const std::string& word, const Layout& layout,
                 const std::optional<net::StoredWeights>& weights, std::size_t dimension) {
  Start start;
  const std::size_t more = dimension - layout.parameter_count();  // log sigma: sigma starts at 1
  if (weights || word == "lecun") {
    start.kind = Start::Kind::given;
    start.word = word;
    if (weights) {
      start.position = weights->parameters;
    } else {
      net::StartLaw law = net::lecun_law(layout);
      start.position = std::move(law.centre);
      start.spread = std::move(law.spread);
      start.spread.resize(start.spread.size() + more);
    }
    start.position.resize(start.position.size() + more);
    return start;
  }
  start = parse_start(option, word, {"net", {}}, dimension);
  if (start.kind == Start::Kind::given) start.word = word;
  return start;
}

}  // namespace

std::vector<const CLI::Option*> add_net_options(CLI::App& command, NetWords& words, bool for_sampling) {
  std::vector<const CLI::Option*> options;
  const auto with_heading = [&](CLI::Option* option) {
    option->group("Options of the model net, a network (--x, --y and --sigma as for glm)");
    options.push_back(option);
  };
  const auto add = [&](const char* name, std::string& value, const std::string& description) {
    with_heading(command.add_option(name, value, description));
  };
  add("--net", words.net, "FILE.json that describes the layers");
  std::vector<std::string> names;
  for (const auto& [name, data] : named_data()) names.push_back(name);
  add("--data", words.data, fmt::format("images in place of --x and --y: {}", joined(names)));
  add("--likelihood", words.likelihood,
      "gaussian or softmax [softmax if y holds whole numbers and the network has more than one output]");
  add_count(command, "--images", words.images, 1, "rows that are used, the first so many [all]");
  with_heading(command.get_option("--images"));
  add("--test-x", words.test_x, "FILE.npy with rows to predict [those of --x; with --data its test images]");
  add("--test-y", words.test_y, "FILE.npy with their answers, for scores");
  add_count(command, "--test-images", words.test_images, 1,
            "rows that are predicted [all; with --data 1000]");
  with_heading(command.get_option("--test-images"));
  with_heading(
      command.add_flag("--standardise", words.standardise,
                       "x and y (or pixels) to mean 0 and sd 1; sigma and predictions are in these units"));
  add_number(command, "--prior-sd", words.prior_sd, "of every weight and bias");
  with_heading(command.get_option("--prior-sd"));
  add_count(command, "--piece", words.piece, 0, "rows that pass through the layers at once; 0: chosen");
  with_heading(command.get_option("--piece"));
  if (for_sampling) {
    add("--gradient", words.gradient,
        "mala: activations kept for the whole data, pieces, or checkpoint [pieces]");
    add("--show", words.show,
        "predictions or weights, in the table and the CSV files [weights if but one layer has any]");
    add("--keep-activations", words.keep,
        "--directions blocks or units: memory for activations below the layer that moves, such as 1G [256M]");
  }
  add("--max-memory", words.memory,
      "for activations and vectors, such as 300M: smaller pieces, or a refusal");
  return options;
}

void refuse_net_options(const std::vector<const CLI::Option*>& options, const std::string& model) {
  for (const auto* option : options)
    if (option->count() > 0)
      throw UsageError(fmt::format("{} belongs to the model net, not to {}", option->get_name(), model));
}

NetModel make_net(const NetWords& words, const GlmWords& shared, const std::string& start,
                  const std::string& word, std::shared_ptr<ThreadPool> pool) {
  if (words.net.empty()) throw UsageError("--net is missing: net needs --net FILE.json, the layers");
  if (words.data.empty() == (shared.x.empty() && shared.y.empty()) || shared.x.empty() != shared.y.empty())
    throw UsageError(
        "net needs data of one kind: --x FILE.npy and --y FILE.npy, both of them, or --data NAME and "
        "neither");
  if (!words.data.empty() && !(words.test_x.empty() && words.test_y.empty()))
    throw UsageError("--test-x and --test-y go with --x and --y: --data has test images of its own");
  if (!words.likelihood.empty() && words.likelihood != "gaussian" && words.likelihood != "softmax")
    throw UsageError(
        fmt::format("--likelihood '{}' is not known: it is gaussian or softmax", words.likelihood));
  const Layout layout = net::read_layout(words.net);
  check_parameters(layout);
  std::optional<net::StoredWeights> weights;
  if (is_weight_file(word, layout)) weights = net::read_weights(word, layout);
  auto network = std::make_shared<const net::Network>(weights ? net::Network(layout, weights->statistics)
                                                              : net::Network(layout));
  Sets sets = words.data.empty() ? from_files(words, shared, layout) : from_name(words, layout);
  net::PosteriorOptions options;
  options.prior_sd = words.prior_sd;
  options.known_sigma = shared.sigma;
  options.piece = words.piece;
  options.gradient = parse_gradient(words.gradient);
  net::Posterior posterior = make_posterior(words, std::move(network), sets.train, options, std::move(pool));
  Start begin = make_start(start, word, layout, weights, posterior.dimension());
  NetModel model{std::move(posterior),         std::move(begin), std::move(sets.test),
                 std::move(sets.test_answers), sets.own_rows,    std::move(sets.units),
                 std::move(sets.notes)};
  if (layout.statistic_count() > 0 && !weights)
    model.notes.push_back(
        fmt::format("batch norms have no running statistics: they count on mean 0 and variance 1; {} "
                    "FILE.safetensors gives "
                    "trained ones",
                    start));
  return model;
}

void check_gradient_memory(const NetWords& words, const NetModel& model) {
  const auto& posterior = model.posterior;
  const double limit = words.memory.empty() ? machine_bytes() : parse_memory("--max-memory", words.memory);
  const auto bytes = [&](net::GradientForm form) {
    return run_bytes(words, posterior,
                     static_cast<double>(jet_bytes(words, posterior) + posterior.gradient_bytes(form)));
  };
  if (bytes(posterior.options().gradient) <= limit) return;
  throw Error(fmt::format(
      "gradients of {} rows with --gradient {} would take {}, but there are {}{}: pieces take {}, "
      "checkpoint {}; samplers other than mala need none",
      posterior.data().count(), words.gradient, shown_bytes(bytes(posterior.options().gradient)),
      shown_bytes(limit), words.memory.empty() ? "" : " by --max-memory",
      shown_bytes(bytes(net::GradientForm::pieces)), shown_bytes(bytes(net::GradientForm::checkpoint))));
}

bool shows_predictions(const NetWords& words, const net::Posterior& posterior) {
  if (!words.show.empty() && words.show != "predictions" && words.show != "weights")
    throw UsageError(fmt::format("--show '{}' is not known.{} It is predictions or weights", words.show,
                                 suggestion(words.show, std::vector<std::string>{"predictions", "weights"})));
  if (!words.show.empty()) return words.show == "predictions";
  const auto& steps = posterior.network().layout.steps();
  return std::ranges::count_if(steps, [](const auto& step) { return step.end > step.begin; }) > 1;
}

void set_large_defaults(RunSettings& s) {
  // Sweeps of tens of thousands of steps, and metrics learned from them, are out of reach.
  if (s.sampler == "auto") s.sampler = "pc-line-fmala";
  if (!s.warmup) s.warmup = 1000;
  if (!s.thin) s.thin = 10;
  if (!s.metric) s.metric = MetricKind::none;
}

ordered_json predictions_json(const NetModel& model, const net::Predictive& predictive) {
  ordered_json json{{"of", model.own_rows ? "training" : "test"},
                    {"rows", predictive.rows()},
                    {"draws", predictive.draws()}};
  if (!predictive.has_answers()) return json;
  const net::Scores scores = predictive.scores();
  json["nll"] = scores.nll;
  if (scores.mse) json["rmse"] = std::sqrt(*scores.mse);
  if (scores.accuracy) json["accuracy"] = *scores.accuracy;
  if (scores.ece) json["ece"] = *scores.ece;
  return json;
}

std::string describe_predictions(const NetModel& model, const net::Predictive& predictive) {
  std::string text = fmt::format("predictions of {} by {}",
                                 counted(predictive.rows(), model.own_rows ? "training row" : "test row"),
                                 counted(predictive.draws(), "draw"));
  if (!predictive.has_answers()) return text;
  const net::Scores scores = predictive.scores();
  text += fmt::format(": NLL {:.4g}", scores.nll);
  if (scores.mse) text += fmt::format(", RMSE {:.4g}", std::sqrt(*scores.mse));
  if (scores.accuracy) text += fmt::format(", accuracy {:.4f}, ECE {:.4f}", *scores.accuracy, *scores.ece);
  return text;
}

ordered_json net_json(const NetWords& words, const GlmWords& shared, const NetModel& model) {
  ordered_json json{{"name", "net"}, {"net", words.net}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  add("data", words.data), add("x", shared.x), add("y", shared.y), add("test_x", words.test_x);
  add("test_y", words.test_y);
  if (words.test_images) json["test_images"] = *words.test_images;
  json["likelihood"] = model.posterior.data().answers.are_labels() ? "softmax" : "gaussian";
  json["images"] = model.posterior.data().count();
  json["prior_sd"] = words.prior_sd;
  if (shared.sigma) json["sigma"] = *shared.sigma;
  // Pieces of another size add up to other roundings, and a gradient has its own if they are left to us.
  json[words.piece > 0 ? "piece" : "chosen_piece"] = model.posterior.options().piece;
  json["gradient"] = words.gradient;
  add("show", words.show), add("keep_activations", words.keep), add("max_memory", words.memory);
  if (!model.units.is_null()) json["standardised"] = model.units;
  json["layers"] = to_json(model.posterior.network().layout.description());
  return json;
}

}  // namespace onward::app
