#include "onward/io/vector_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "input_file.hpp"
#include "npy_format.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "system_file.hpp"

namespace onward {
namespace {

/// Collects a flat array of numbers; anything else is refused with the index where it stands.
class VectorReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<double> values;
  std::string problem;

  bool number_integer(number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool string(string_t&) override { return refuse("a string"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override { return refuse("an object"); }
  bool key(string_t&) override { return false; }
  bool end_object() override { return false; }
  bool start_array(std::size_t) override {
    if (inside_) return refuse("an array");
    return inside_ = true;
  }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string& last_token, const nlohmann::json::exception& e) override {
    // NaN and Infinity are not JSON, but Python writes them.
    if (inside_ && (last_token.ends_with('N') || last_token.ends_with('I'))) return refuse("NaN or infinite");
    std::string_view text = e.what();
    if (const auto end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
    problem = text;
    return false;
  }

 private:
  bool add(double value) {
    if (!inside_) return refuse("a lone number");
    values.push_back(value);
    return true;
  }
  bool refuse(std::string_view what) {
    problem = inside_ ? fmt::format("entry {} (counted from 0) is {}; every entry must be a finite number",
                                    values.size(), what)
                      : fmt::format("it holds {}", what);
    return false;
  }

  bool inside_ = false;
};

std::vector<double> parse_json_vector(const std::filesystem::path& path, std::string_view text) {
  VectorReader reader;
  if (!nlohmann::json::sax_parse(text, &reader))
    throw Error(fmt::format("{}: not a JSON array of numbers such as [0.5, -1, 2e-3]: {}.", path.string(),
                            reader.problem));
  return std::move(reader.values);
}

void require_finite(const std::filesystem::path& path, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw Error(fmt::format("{}: entry {} (counted from 0) is {}; every entry must be a finite number.",
                              path.string(), i, values[i]));
}

}  // namespace

std::vector<double> parse_vector(const std::string& name, std::string_view text) {
  auto values = parse_json_vector(name, text);
  require_finite(name, values);
  return values;
}

std::vector<double> read_vector(const std::filesystem::path& path, std::size_t most) {
  const auto too_many = [&] {
    throw Error(fmt::format("{}: more than {} entries, the most that are of use here.", path.string(), most));
  };
  auto file = std::make_unique<detail::InputFile>(path, detail::npy_kind);
  if (path.extension() != ".npy" && !file->starts_with(detail::npy_magic)) {
    constexpr std::size_t characters = 64, least = 1 << 16;
    auto values = parse_json_vector(path, file->read_rest(least + characters * most));
    if (values.size() > most) too_many();
    require_finite(path, values);
    return values;
  }
  NpyReader reader(std::move(file));
  std::size_t entries = 1;
  for (const std::size_t side : reader.header().shape)
    if (__builtin_mul_overflow(entries, side, &entries)) too_many();
  if (entries > most) too_many();
  const NpyArray array = std::move(reader).read_all();
  const bool row_or_column = array.shape.size() == 2 && (array.shape[0] == 1 || array.shape[1] == 1);
  if (array.shape.size() != 1 && !row_or_column)
    throw Error(
        fmt::format("{}: an array of shape ({}) where a vector is needed: store it with one dimension.",
                    path.string(), fmt::join(array.shape, ", ")));
  auto values = array.to_doubles();
  require_finite(path, values);
  return values;
}

void write_vector(const std::filesystem::path& path, std::span<const double> values) {
  if (path.extension() == ".npy") {
    const auto bytes = std::as_bytes(values);
    write_npy(path, {{{values.size()}, "<f8"}, {bytes.begin(), bytes.end()}});
    return;
  }
  require_finite(path, values);
  detail::write_whole(path, nlohmann::json(std::vector<double>(values.begin(), values.end())).dump() + "\n");
}

}  // namespace onward
