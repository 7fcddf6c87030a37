#include "model_options.hpp"

#include <charconv>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/io/vector_file.hpp"

namespace onward::app {

void add_model_options(CLI::App& command, ModelWords& words) {
  command.add_option("MODEL", words.name, "a built-in model: `onward models` lists them")->required();
  command.add_option("--dim", words.options.dimension, "size of models that have one");
  command.add_option("--condition", words.options.condition,
                     "gaussian: ratio of its largest to its smallest variance");
}

models::Model make_model(const ModelWords& words) { return models::make(words.name, words.options); }

Start parse_start(const std::string& word) {
  Start start;
  if (word == "zeros") {
    start.kind = Start::Kind::zeros;
  } else if (word == "random" || word.starts_with("random:")) {
    start.kind = Start::Kind::random;
    if (word.size() > 6) {
      const std::string number = word.substr(7);
      char* end = nullptr;
      start.scale = std::strtod(number.c_str(), &end);
      if (number.empty() || *end != '\0')
        throw UsageError(
            fmt::format("'{}' has no number after the colon: write random:SCALE, as in random:0.1", word));
    }
  } else {
    start.kind = Start::Kind::given;
    start.position = read_vector(word);
  }
  return start;
}

}  // namespace onward::app
