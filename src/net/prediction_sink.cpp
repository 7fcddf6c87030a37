#include "onward/net/prediction_sink.hpp"

#include <cmath>

#include <fmt/format.h>

#include "onward/io/npy.hpp"
#include "onward/net/weights.hpp"

namespace onward::net {

PredictionSink::PredictionSink(const NetworkPosterior& posterior, Inputs test, std::optional<Answers> answers,
                               std::size_t chains, const RunFolder* folder)
    : folder_(folder),
      test_(std::move(test)),
      predictor_(posterior),
      outputs_(test_.count() * posterior.network().layout.output().size()) {
  const std::size_t width = posterior.network().layout.output().size();
  for (std::size_t chain = 0; chain < chains; ++chain)
    chains_.push_back({Predictive(posterior.data().answers.are_labels(), test_.count(), width, answers), {}});
}

void PredictionSink::drawn(std::size_t chain, const Draw& draw) {
  Chain& kept = chains_[chain];
  {
    const std::lock_guard lock(mutex_);
    predictor_.predict(draw.position, test_, outputs_);
    const auto known = predictor_.options().known_sigma;
    const double sigma = known ? *known : predictor_.samples_sigma() ? std::exp(draw.position.back()) : 1;
    kept.predictive.add(outputs_, sigma);
  }
  kept.last.assign(draw.position.begin(), draw.position.end());
}

void PredictionSink::finished(std::size_t chain) {
  const Chain& kept = chains_[chain];
  if (folder_ != nullptr && !kept.last.empty())
    write_weights(folder_->path() / fmt::format("chain-{}.safetensors", chain + 1), predictor_.network(),
                  kept.last);
}

void PredictionSink::transfer(std::size_t chain, Archive& archive) {
  chains_[chain].predictive.transfer(archive);
  archive(chains_[chain].last);
}

Predictive PredictionSink::predictive() const {
  Predictive all = chains_.front().predictive;
  for (std::size_t i = 1; i < chains_.size(); ++i) all.add(chains_[i].predictive);
  return all;
}

void write_predictions(const RunFolder& folder, const Predictive& predictive, std::size_t outputs) {
  const auto write = [&](const char* name, const std::vector<double>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    write_npy(folder.path() / name,
              {{{values.size() / outputs, outputs}, "<f8"}, {bytes.begin(), bytes.end()}});
  };
  write("predictions.npy", predictive.mean());
  if (!predictive.of_classes()) write("predictions-sd.npy", predictive.sd());
}

}  // namespace onward::net
