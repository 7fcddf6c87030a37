#include "onward/data/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "onward/data/data_set.hpp"
#include "onward/error.hpp"
#include "onward/io/cifar.hpp"
#include "onward/io/idx.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr unsigned classes = 10;

/// That these are the images that the name stands for, as far as their numbers tell.
void require_shape(std::string_view name, const fs::path& file, const LabelledImages& images,
                   std::size_t count, std::size_t side) {
  const auto remedy = fmt::format("See `onward data check {}`.", name);
  if (images.count() != count || images.height != side || images.width != side)
    throw Error(fmt::format("{}: expected {} images of {} x {}, found {} of {} x {}. {}", file.string(),
                            count, side, side, images.count(), images.height, images.width, remedy));
  const auto strange =
      std::ranges::find_if(images.labels, [](std::uint8_t label) { return label >= classes; });
  if (strange != images.labels.end())
    throw Error(fmt::format("{}: image {} (counted from 0) has the label {}, expected 0 to {}. {}",
                            file.string(), strange - images.labels.begin(), *strange, classes - 1, remedy));
}

/// find_data(), and that copies in the cache are still what was fetched. A folder of the user's own may hold
/// other images of the same shapes.
std::vector<fs::path> find_right_data(std::string_view name, const fs::path& dir) {
  auto files = find_data(name, dir);
  if (!dir.empty()) return files;
  for (const auto& file : check_data(data_set(name), data_folder(data_set(name))))
    if (file.state != CheckedFile::State::right)
      throw Error(fmt::format("{}. Remove it and run `onward data get {}`.", file.problem, name));
  return files;
}

TrainAndTest load_like_mnist(std::string_view name, const fs::path& dir) {
  const auto files = find_right_data(name, dir);
  TrainAndTest sets{read_idx_images(files[0], files[1]), read_idx_images(files[2], files[3])};
  require_shape(name, files[0], sets.train, 60'000, 28);
  require_shape(name, files[2], sets.test, 10'000, 28);
  return sets;
}

}  // namespace

TrainAndTest load_mnist(const fs::path& dir) { return load_like_mnist("mnist", dir); }
TrainAndTest load_fashion_mnist(const fs::path& dir) { return load_like_mnist("fashion-mnist", dir); }

TrainAndTest load_cifar10(const fs::path& dir) {
  const auto files = find_right_data("cifar10", dir);
  const auto train = std::span(files).first(files.size() - 1), test = std::span(files).last(1);
  TrainAndTest sets{read_cifar10(train), read_cifar10(test)};
  require_shape("cifar10", files.front().parent_path(), sets.train, 50'000, 32);
  require_shape("cifar10", files.back(), sets.test, 10'000, 32);
  return sets;
}

}  // namespace onward
