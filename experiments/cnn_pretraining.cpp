#include "cnn_pretraining.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "cnn_images.hpp"
#include "onward/error.hpp"
#include "onward/io/cifar.hpp"
#include "onward/io/json.hpp"
#include "onward/net/predictive.hpp"
#include "onward/net/weights.hpp"
#include "onward/util/clock.hpp"

namespace onward::experiments {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// What the weights depend on.
ordered_json settings_json(const PretrainingSettings& s) {
  return {{"width", s.width},           {"images", s.images},
          {"held_out", s.held_out},     {"data", data_settings(s.data)},
          {"epochs", s.sgd.epochs},     {"batch", s.sgd.batch},
          {"rate", s.sgd.rate},         {"rising", s.sgd.rising},
          {"momentum", s.sgd.momentum}, {"weight_decay", s.sgd.weight_decay},
          {"shift", s.sgd.shift},       {"mirror", s.sgd.mirror},
          {"seed", s.sgd.seed}};
}

/// Judges weights by the images that are held out.
class Judge {
 public:
  Judge(net::Layout layout, LabelledImages images, std::shared_ptr<ThreadPool> pool)
      : layout_(std::move(layout)),
        data_(net::image_data(std::move(images), cifar10_classes, net::cifar10_normalisation())),
        pool_(std::move(pool)) {}

  net::Scores operator()(const net::SgdState& state) const {
    net::NetworkPosterior posterior(std::make_shared<net::Network>(layout_, state.statistics), data_, {},
                                    pool_);
    const std::vector<double> theta(state.parameters.begin(), state.parameters.end());
    std::vector<float> outputs(data_.count() * layout_.output().size());
    posterior.predict(theta, data_.inputs, outputs);
    net::Predictive predictive(true, data_.count(), layout_.output().size(), data_.answers);
    predictive.add(outputs);
    return predictive.scores();
  }

 private:
  net::Layout layout_;
  net::Data data_;
  std::shared_ptr<ThreadPool> pool_;
};

void check_counts(const PretrainingSettings& s, std::size_t there) {
  if (s.held_out + std::max(s.sgd.batch, s.images) > there)
    throw UsageError(
        fmt::format("{} images to train with and {} held out are more than the {} training images: use fewer",
                    std::max(s.sgd.batch, s.images), s.held_out, there));
}

Pretraining train(const PretrainingSettings& s, const EpochListener& listener, const Share& progress) {
  const auto pool = std::make_shared<ThreadPool>(threads_or_all(s.threads));
  const auto layout = std::make_shared<const net::Layout>(net::paper_cnn(true, s.width));
  auto images = load_cnn_images(s.data).train;
  check_counts(s, images.count());
  const std::size_t kept = images.count() - s.held_out;
  const Judge judge(*layout, images_from(images, kept), pool);
  const auto train_images = std::make_shared<const LabelledImages>(
      images_before(std::move(images), s.images > 0 ? s.images : kept));
  net::Sgd sgd(layout, train_images, net::cifar10_normalisation(), s.sgd, pool);

  Pretraining epochs;
  const fs::path state_file = fs::path(s.folder) / "training.safetensors";
  if (auto stored = net::read_state(state_file)) {
    const auto note = parse_json<ordered_json>(stored->note, state_file.string());
    if (note.at("settings") == settings_json(s)) {
      epochs = pretraining_from_json(note.at("epochs"));
      sgd.set_state(std::move(stored->state));
      listener(epochs.back());
    }
  }
  while (epochs.size() < s.sgd.epochs) {
    const auto begin = Clock::now();
    sgd.epoch([&](double share) {
      progress((static_cast<double>(epochs.size()) + share) / static_cast<double>(s.sgd.epochs));
    });
    const net::Scores scores = judge(sgd.state());
    epochs.push_back(
        {epochs.size() + 1, sgd.state().losses.back(), *scores.accuracy, scores.nll, seconds_since(begin)});
    const ordered_json note{{"settings", settings_json(s)}, {"epochs", to_json(epochs)}};
    net::write_state(state_file, {sgd.state(), json_text(note)});
    listener(epochs.back());
  }
  const std::vector<double> theta(sgd.state().parameters.begin(), sgd.state().parameters.end());
  net::write_weights(start_file(s.folder), net::Network(*layout, sgd.state().statistics), theta);
  fs::remove(state_file);
  return epochs;
}

}  // namespace

void check_pretraining(const PretrainingSettings& s) {
  net::validate(s.sgd);
  if (s.width < 1) throw UsageError("width 0 is too few: it must be 1 or more");
  if (s.held_out < 1) throw UsageError("held-out 0 is too few: it must be 1 or more");
  check_counts(s, load_cnn_images(s.data).train.count());
}

fs::path start_file(const std::string& folder) { return fs::path(folder) / "start.safetensors"; }

std::optional<Pretraining> pretrain(const PretrainingSettings& s, const EpochListener& listener,
                                    const Share& progress, const std::atomic<bool>& stop) {
  net::validate(s.sgd);
  const std::string name = "pretraining";
  if (!fs::exists(start_file(s.folder))) fs::remove(fs::path(s.folder) / ("row-" + name + ".json"));
  const RowJob job{name, settings_json(s),
                   [&](const Share& share) -> ordered_json {
                     return {{"epochs", to_json(train(s, listener, share))}};
                   },
                   true};
  const auto row = make_row(s.folder, job, progress, stop);
  if (!row) return std::nullopt;
  return pretraining_from_json(row->at("epochs"));
}

ordered_json to_json(const Pretraining& epochs) {
  auto json = ordered_json::array();
  for (const auto& epoch : epochs)
    json.push_back({{"loss", epoch.loss},
                    {"held_out_accuracy", epoch.accuracy},
                    {"held_out_nll", epoch.nll},
                    {"seconds", epoch.seconds}});
  return json;
}

Pretraining pretraining_from_json(const ordered_json& json) {
  Pretraining epochs;
  for (const auto& epoch : json)
    epochs.push_back({epochs.size() + 1, epoch.at("loss"), number_from_json(epoch.at("held_out_accuracy")),
                      number_from_json(epoch.at("held_out_nll")), epoch.at("seconds")});
  return epochs;
}

}  // namespace onward::experiments
