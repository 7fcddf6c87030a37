#include "model_data.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "onward/data/load.hpp"
#include "onward/error.hpp"
#include "onward/io/array.hpp"
#include "onward/util/suggest.hpp"

namespace onward::net {
namespace {

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
  std::string field, file;
  Array array;
  bool in_memory;                   // before it was asked for
  std::size_t count = 0, each = 1;  // rows, and entries of one

  Rows(std::string field_name, const ArraySource& source, std::optional<std::size_t> wanted)
      : field(std::move(field_name)),
        file(source.word),
        array(source.read()),
        in_memory(source.held.has_value()) {
    if (array.shape.empty())
      throw Error(
          fmt::format("`{}` {} holds one number: it must hold one row for each observation", field, file));
    if (array.fortran_order && array.shape.size() > 1)
      throw Error(
          fmt::format("`{}` {} is stored column by column: store it by rows, as "
                      "numpy.save(file, numpy.ascontiguousarray(array)) does",
                      field, file));
    count = array.shape[0];
    for (std::size_t i = 1; i < array.shape.size(); ++i) each *= array.shape[i];
    if (count == 0) throw Error(fmt::format("`{}` {} has no rows: it must have at least one", field, file));
    if (wanted && *wanted < count) count = *wanted;
  }

  bool bytes() const { return array.dtype == "|u1"; }
  /// Whether to use the array where it is: of a file of which little is wanted that little is copied.
  bool shared() const { return in_memory || count == array.shape[0]; }
  bool whole_numbers() const {
    return array.dtype[1] == 'i' || array.dtype[1] == 'u' || array.dtype[1] == 'b';
  }

  bool holds_only_0_and_1() const {
    bool right = true;
    array.visit([&](const auto& stored) {
      for (std::size_t i = 0; right && i < count * each; ++i) {
        const auto value = static_cast<double>(stored[i]);
        right = value == 0 || value == 1;
      }
    });
    return right;
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
    check_finite(values);
    return values;
  }

  void check_finite(std::span<const float> values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw Error(
            fmt::format("`{}` {}: row {} (counted from 1) has the entry {}: every entry must be a finite "
                        "number",
                        field, file, i / each + 1, values[i]));
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
        fmt::format("`{}` {} has rows of {}, but the network takes {}{}", rows.field, rows.file,
                    rows.row_shape(), to_string(in),
                    channels_last ? ": channels come first, as array.transpose(0, 3, 1, 2) puts them" : ""));
}

/// A mean and an sd for each channel of what the network takes: for a vector, each pixel has its channel's.
Normalisation by_channel(const std::vector<Unit>& units, const Shape& in, std::size_t pixels_a_channel) {
  Normalisation result;
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
    if (units.size() != channels)
      throw UsageError(
          fmt::format("`pixel_mean` has {} numbers and `{}` {} has {} channels: give one for each",
                      units.size(), rows.field, rows.file, channels));
    const Normalisation normalise = by_channel(units, in, plane);
    if (rows.shared()) return Inputs::pixels(in, pixels, normalise, rows.array.owner);
    return Inputs::pixels(in, {pixels.begin(), pixels.end()}, normalise);
  }
  if (!standardise && rows.shared() && rows.array.dtype == detail::npy_dtype<float>()) {
    const auto values = rows.array.as<float>().first(rows.count * rows.each);
    rows.check_finite(values);
    return Inputs::values(in, values, rows.array.owner);
  }
  auto values = rows.floats();
  if (standardise && units.empty()) units = units_of(values, rows.each);
  if (standardise) to_units(units, values);
  return Inputs::values(in, std::move(values));
}

/// Whole numbers are classes, unless there is but one output to tell them by.
bool is_classes(const OptionValues& given, const Rows& y, const Layout& layout) {
  const std::size_t outputs = layout.output().size();
  if (given.text("likelihood") == "softmax" && outputs == 1)
    throw UsageError("`likelihood` softmax needs an output for each class, and the network has one output");
  if (given.text("likelihood") == "softmax") return true;
  return !given.has("likelihood") && y.whole_numbers() && outputs > 1;
}

Answers make_answers(const Rows& y, const Layout& layout, bool classes, bool standardise,
                     std::vector<Unit>& units) {
  const std::size_t outputs = layout.output().size();
  if (!classes) {
    auto values = y.floats();  // first: among classes an entry that is no number is the plainer fault
    if (y.each != outputs)
      throw Error(fmt::format("`{}` {} has rows of {}, but the network gives {}{}", y.field, y.file,
                              y.row_shape(), to_string(layout.output()),
                              y.each == 1 ? ": if these are classes, add `likelihood` softmax" : ""));
    if (standardise && units.empty()) units = units_of(values, y.each);
    if (standardise) to_units(units, values);
    return Answers::values(outputs, std::move(values));
  }
  constexpr std::size_t most_classes = 256;
  if (y.each != 1)
    throw Error(fmt::format("`{}` {} has rows of {}: a class is one number", y.field, y.file, y.row_shape()));
  if (outputs > most_classes)
    throw Error(fmt::format("the network tells {} classes apart: {} are the most", outputs, most_classes));
  std::vector<std::uint8_t> labels;
  const auto values = y.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!(value >= 0 && value < static_cast<float>(outputs)) || value != std::floor(value))
      throw Error(
          fmt::format("`{}` {}: row {} (counted from 1) has the class {}: the network tells classes 0 to {} "
                      "apart",
                      y.field, y.file, i + 1, value, outputs - 1));
    labels.push_back(static_cast<std::uint8_t>(value));
  }
  return Answers::labels(outputs, labels);
}

void same_rows(const Rows& x, const Rows& y) {
  if (x.array.shape[0] != y.array.shape[0])
    throw Error(fmt::format("`{}` {} has {} rows and `{}` {} has {}: they must be as many", x.field, x.file,
                            x.array.shape[0], y.field, y.file, y.array.shape[0]));
}

void enough(const std::string& field, std::optional<std::size_t> wanted, std::size_t there) {
  if (wanted && *wanted > there)
    throw Error(fmt::format("`{}` {} was asked for and there are {}", field, *wanted, there));
}

/// Numbers with commas between them.
std::vector<double> parse_numbers(const std::string& field, const std::string& text) {
  std::vector<double> numbers;
  for (const char *at = text.data(), *const end = at + text.size(); at <= end; ++at) {
    double number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || !std::isfinite(number) || (stop != end && *stop != ','))
      throw UsageError(fmt::format(
          "`{}` {} is not usable: it must be numbers with commas between them, such as 0.485,0.456,0.406",
          field, text));
    numbers.push_back(number);
    at = stop;
  }
  return numbers;
}

/// What `pixel_mean` and `pixel_sd` say of the channels of bytes; empty if they are not there.
std::vector<Unit> units_of_channels(const OptionValues& given, const Rows& x) {
  const bool mean = given.has("pixel_mean"), sd = given.has("pixel_sd");
  if (mean != sd) throw UsageError("`pixel_mean` and `pixel_sd` go together: give both or neither");
  if (!mean) return {};
  if (given.flag("standardise"))
    throw UsageError("`pixel_mean` says what pixels are measured by, and so does `standardise`: give one");
  if (!x.bytes())
    throw UsageError(fmt::format("`pixel_mean` is for bytes, and `x` {} has elements of type '{}'", x.file,
                                 x.array.dtype));
  const auto means = parse_numbers("pixel_mean", given.text("pixel_mean")),
             sds = parse_numbers("pixel_sd", given.text("pixel_sd"));
  if (means.size() != sds.size())
    throw UsageError(fmt::format("`pixel_mean` has {} numbers and `pixel_sd` {}: they must be as many",
                                 means.size(), sds.size()));
  std::vector<Unit> units;
  for (std::size_t c = 0; c < means.size(); ++c) units.push_back({means[c], sds[c]});
  return units;
}

Sets from_files(const OptionValues& given, const BuildFor& what_for, const Layout& layout) {
  const auto wanted = given.count("images"), wanted_tests = given.count("test_images");
  const bool standardise = given.flag("standardise");
  const auto rows = [&](const char* field, std::optional<std::size_t> count) {
    return Rows(field, what_for.array(given, field), count);
  };
  const Rows x = rows("x", wanted), y = rows("y", wanted);
  same_rows(x, y);
  enough("images", wanted, x.array.shape[0]);
  const bool classes = is_classes(given, y, layout);
  std::vector<Unit> x_units = units_of_channels(given, x), y_units;
  Data train{make_inputs(x, layout, standardise, x_units),
             make_answers(y, layout, classes, standardise, y_units)};
  Sets sets{train, train.inputs, train.answers, true, {}, {}};
  const bool yes_or_no = y.holds_only_0_and_1();
  if (!classes && !given.has("likelihood") && (y.whole_numbers() || yes_or_no))
    sets.notes.push_back(fmt::format(
        "y holds {} and the network has {}: they are taken for numbers with Gaussian noise; for classes give "
        "the network an output for each and `likelihood` softmax, for numbers `likelihood` gaussian",
        yes_or_no ? "nothing but 0 and 1" : "whole numbers",
        layout.output().size() == 1 ? std::string("one output")
                                    : fmt::format("{} outputs", layout.output().size())));
  if (standardise) {
    sets.units["x"] = units_json(x_units);
    if (!classes) sets.units["y"] = units_json(y_units);
  }
  if (given.has("test_y") && !given.has("test_x"))
    throw UsageError("`test_y` goes with `test_x`: give both or neither");
  if (given.has("test_x")) {
    const Rows test_x = rows("test_x", wanted_tests);
    enough("test_images", wanted_tests, test_x.array.shape[0]);
    if (test_x.bytes() != x.bytes())
      throw Error(
          fmt::format("`x` {} and `test_x` {} are of types {} and {}: either both or none may be bytes",
                      x.file, test_x.file, x.array.dtype, test_x.array.dtype));
    sets.test = make_inputs(test_x, layout, standardise, x_units);
    sets.test_answers.reset();
    sets.own_rows = false;
    if (given.has("test_y")) {
      const Rows test_y = rows("test_y", wanted_tests);
      same_rows(test_x, test_y);
      sets.test_answers = make_answers(test_y, layout, classes, standardise, y_units);
    }
  } else if (wanted_tests) {
    throw UsageError("`test_images` says how many of `test_x` or of `data`: give one of them");
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

Data image_rows(LabelledImages images, std::size_t count, const std::string& name, const Layout& layout,
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

}  // namespace

std::vector<std::string> data_names() {
  std::vector<std::string> names;
  for (const auto& [name, data] : named_data()) names.push_back(name);
  return names;
}

namespace {

Sets from_name(const OptionValues& given, const Layout& layout) {
  const auto names = data_names();
  const auto found = named_data().find(given.text("data"));
  if (found == named_data().end())
    throw UsageError(fmt::format("`data` '{}' is not known.{} It is one of {}; other data by `x` and `y`",
                                 given.text("data"), suggestion(given.text("data"), names), joined(names)));
  if (given.text("likelihood") == "gaussian")
    throw UsageError("`likelihood` gaussian: images of `data` have classes, whose likelihood is softmax");
  TrainAndTest both = found->second.load({});
  enough("images", given.count("images"), both.train.count());
  enough("test_images", given.count("test_images"), both.test.count());
  constexpr std::size_t usual_test = 1000;  // predictions of all would cost as much as a step, or more
  const std::size_t images = given.count("images").value_or(both.train.count());
  const std::size_t test_images =
      given.count("test_images").value_or(std::min(usual_test, both.test.count()));
  auto train = image_rows(std::move(both.train), images, given.text("data"), layout, found->second.units);
  auto test = image_rows(std::move(both.test), test_images, given.text("data"), layout, found->second.units);
  return {std::move(train), std::move(test.inputs), std::move(test.answers), false, {}, {}};
}

}  // namespace

Sets read_sets(const OptionValues& given, const BuildFor& what_for, const Layout& layout) {
  return given.has("data") ? from_name(given, layout) : from_files(given, what_for, layout);
}

}  // namespace onward::net
