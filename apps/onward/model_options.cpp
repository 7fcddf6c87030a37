#include "model_options.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/io/vector_file.hpp"

namespace onward::app {

void add_model_options(CLI::App& command, ModelWords& words) {
  command.add_option("MODEL", words.name, "a built-in model (`onward models` lists them), glm or net")
      ->required();
  add_count(command, "--dim", words.options.dimension, 1, "size of models that have one");
  add_number(command, "--condition", words.options.condition,
             "gaussian: ratio of its largest to its smallest variance");
}

models::Model make_model(const ModelWords& words) { return models::make(words.name, words.options); }

std::vector<double> read_place(const std::string& option, const std::string& file, const ModelWords& model,
                               std::size_t dimension) {
  // Somewhat more than fits is read, to say how many there are.
  const std::size_t most = std::max<std::size_t>(4 * dimension, 100'000);
  auto place = file.starts_with('[') ? parse_vector(option, file) : read_vector(file, most);
  if (place.size() != dimension)
    throw UsageError(fmt::format(
        "{} {} has {} entries, but {} has {} parameters to sample: give one entry for each{}", option, file,
        place.size(), model.name, dimension, model.options.dimension ? ", or another --dim" : ""));
  return place;
}

Start parse_start(const std::string& option, const std::string& word, const ModelWords& model,
                  std::size_t dimension) {
  Start start;
  if (word == "zeros") {
    start.kind = Start::Kind::zeros;
  } else if (word == "random") {
    start.kind = Start::Kind::random;
  } else if (word.starts_with("random:")) {
    start.kind = Start::Kind::random;
    start.scale = parse_number("the scale of " + option, word.substr(7));
    if (!(start.scale >= 0) || !std::isfinite(start.scale))
      throw UsageError(
          fmt::format("{} {} is not usable: the scale must be 0 or a positive number", option, word));
  } else {
    start.kind = Start::Kind::given;
    start.position = read_place(option, word, model, dimension);
  }
  return start;
}

}  // namespace onward::app
