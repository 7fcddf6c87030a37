#include "logreg_problem.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "onward/data/load.hpp"
#include "onward/error.hpp"
#include "onward/io/idx.hpp"

namespace onward::experiments {
namespace {

/// Pixels as the paper has them: x/255, then less 0.1307, divided by 0.3081.
glm::Design normalised(const LabelledImages& images, std::size_t count) {
  constexpr float mean = 0.1307f, sd = 0.3081f;
  const std::span pixels(images.pixels.data(), count * images.pixels_each());
  return glm::Design::bytes(pixels, count, images.pixels_each(), 1 / (255 * sd), -mean / sd, true);
}

/// Images and labels from a folder with files of MNIST's names, plain or gzipped, of any number and size.
LabelledImages read_images(const std::filesystem::path& folder, const std::string& set) {
  const auto file = [&](const std::string& name) {
    const auto plain = folder / name;
    const auto zipped = folder / (name + ".gz");
    return std::filesystem::exists(zipped) && !std::filesystem::exists(plain) ? zipped : plain;
  };
  const auto pictures = file(set + "-images-idx3-ubyte");
  auto images = read_idx_images(pictures, file(set + "-labels-idx1-ubyte"));
  if (images.count() == 0 || images.pixels_each() == 0)
    throw Error(fmt::format("{}: it has {} images of {} x {} pixels, and there must be some",
                            pictures.string(), images.count(), images.height, images.width));
  for (std::size_t i = 0; i < images.count(); ++i)
    if (images.labels[i] >= logreg_classes)
      throw Error(fmt::format("{}: image {} (counted from 0) of {} has the label {}, expected 0 to {}",
                              folder.string(), i, set, images.labels[i], logreg_classes - 1));
  return images;
}

}  // namespace

LogregProblem load_logreg(const LogregSettings& s, const std::shared_ptr<ThreadPool>& pool) {
  TrainAndTest data =
      s.data.empty() ? load_mnist() : TrainAndTest{read_images(s.data, "train"), read_images(s.data, "t10k")};
  if (data.train.height != data.test.height || data.train.width != data.test.width)
    throw Error(
        fmt::format("{}: the training images have {} x {} pixels and the test images {} x {}: they "
                    "must be of one size",
                    s.data, data.train.height, data.train.width, data.test.height, data.test.width));
  const std::size_t count = std::min(s.images, data.train.count());
  auto design = std::make_shared<glm::Design>(normalised(data.train, count));
  const std::vector<double> labels(data.train.labels.begin(),
                                   data.train.labels.begin() + static_cast<std::ptrdiff_t>(count));
  data.train = {};  // the design has its own copy
  auto observations = std::make_shared<glm::Observations>(glm::Family::categorical, labels,
                                                          glm::RowOptions{.classes = logreg_classes});
  glm::PosteriorOptions options;
  options.coefficients = options.intercept = glm::Prior::normal(0, 1);
  options.centre = false;  // the paper's prior is that of the biases themselves
  glm::Design test = normalised(data.test, data.test.count());
  return {glm::RegressionPosterior(std::move(design), std::move(observations), std::move(options), pool),
          std::move(test), std::move(data.test.labels)};
}

}  // namespace onward::experiments
