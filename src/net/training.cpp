#include "onward/net/training.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "backward.hpp"
#include "in_order.hpp"
#include "layers.hpp"
#include "likelihood.hpp"
#include "onward/error.hpp"

namespace onward::net {
namespace {

/// Rows that a thread takes at a time. All of them go through a layer before any goes through the next, since
/// a batch norm wants to see them all.
constexpr std::size_t shard_rows = 32;

/// What a batch norm saw.
struct Moments {
  std::vector<float> mean, inverse_sd;  // a channel each
};

/// Sums over rows and pixels, for each channel.
struct ChannelSums {
  std::vector<double> first, second;
  ChannelSums() = default;
  explicit ChannelSums(std::size_t channels) : first(channels, 0), second(channels, 0) {}
  ChannelSums& operator+=(const ChannelSums& other) {
    for (std::size_t c = 0; c < first.size(); ++c) {
      first[c] += other.first[c];
      second[c] += other.second[c];
    }
    return *this;
  }
};

/// Of the numbers.
void add_numbers(std::size_t channels, std::size_t pixels, const float* __restrict x,
                 double* __restrict sums) {
  for (std::size_t p = 0; p < pixels; ++p, x += channels)
    for (std::size_t c = 0; c < channels; ++c) sums[c] += x[c];
}

/// Of their squared deviations.
void add_squares(std::size_t channels, std::size_t pixels, const float* __restrict x,
                 const double* __restrict mean, double* __restrict sums) {
  for (std::size_t p = 0; p < pixels; ++p, x += channels)
    for (std::size_t c = 0; c < channels; ++c) sums[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
}

/// Of derivatives, and of those times the normalised numbers.
void add_derivatives(std::size_t channels, std::size_t pixels, const float* __restrict by_out,
                     const float* __restrict x, const float* __restrict mean,
                     const float* __restrict inverse_sd, double* __restrict first,
                     double* __restrict second) {
  for (std::size_t p = 0; p < pixels; ++p, x += channels, by_out += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      first[c] += by_out[c];
      second[c] += by_out[c] * ((x[c] - mean[c]) * inverse_sd[c]);
    }
}

/// out = a x + b y + c, channel by channel.
void combine(std::size_t channels, std::size_t pixels, const float* __restrict x, const float* __restrict y,
             const float* __restrict a, const float* __restrict b, const float* __restrict shift,
             float* __restrict out) {
  for (std::size_t p = 0; p < pixels; ++p, x += channels, y += channels, out += channels)
    for (std::size_t c = 0; c < channels; ++c) out[c] = a[c] * x[c] + b[c] * y[c] + shift[c];
}

struct Shard {
  Shard(const Plan& plan, std::size_t count)
      : tape(plan, {0, plan.units().size()}, count), adjoints(plan), rows(count) {}
  Tape tape;
  Adjoints adjoints;
  std::size_t rows;
};

}  // namespace

class Training::Implementation {
 public:
  Implementation(std::shared_ptr<const Layout> layout, std::shared_ptr<ThreadPool> pool)
      : layout_(std::move(layout)),
        pool_(pool ? std::move(pool) : std::make_shared<ThreadPool>(1)),
        plan_(Network(*layout_), shard_rows),
        theta_floats_(layout_->parameter_count()),
        theta_(plan_.make_weights(false)),
        moments_(plan_.units().size()) {}

  std::size_t outputs() const { return layout_->output().size(); }

  double gradient(std::span<const float> theta, std::span<const float> inputs, const Answers& answers,
                  std::span<float> statistics, double momentum, std::span<float> out) {
    const std::size_t rows = check(theta, inputs, answers, statistics, out);
    share_out(rows);
    std::copy(theta.begin(), theta.end(), theta_floats_.begin());
    for_each_shard(plan_.units().size(), [&](std::size_t u, Worker& worker) {
      plan_.pack(u, theta_floats_.data(), theta_, worker.bench);
      plan_.pack_backward(u, theta_floats_.data(), *backward_weights_, worker.bench);
    });

    for_each_shard(shards_.size(), [&](std::size_t i, Worker&) {
      channels_last(layout_->input(), shards_[i].rows,
                    inputs.data() + i * shard_rows * layout_->input().size(), shards_[i].tape.tensor(0));
    });
    const std::size_t units = plan_.units().size();
    for (std::size_t u = 0; u < units; ++u) {
      if (plan_.units()[u].is_norm())
        normalise(u, rows, statistics, momentum);
      else
        for_each_shard(shards_.size(), [&](std::size_t i, Worker& worker) {
          forward_on_tape(plan_, u, u + 1, shards_[i].rows, theta_, shards_[i].tape, worker.bench);
        });
    }

    std::vector<double> losses(shards_.size());
    for_each_shard(shards_.size(), [&](std::size_t i, Worker&) { losses[i] = loss(i, rows, answers); });
    std::fill(out.begin(), out.end(), 0.0f);
    for (std::size_t u = units; u-- > 0;) {
      if (plan_.units()[u].is_norm()) {
        backward_norm(u, rows, out);
        continue;
      }
      InOrder in_order;
      const Unit& unit = plan_.units()[u];
      for_each_shard(shards_.size(), [&](std::size_t i, Worker& worker) {
        try {
          backward_unit(plan_, u, shards_[i].rows, *backward_weights_, shards_[i].tape, shards_[i].adjoints,
                        worker.gradient.data(), worker.bench);
          in_order.use(i, [&] {
            for (std::size_t p = unit.begin; p < unit.end; ++p) out[p] += worker.gradient[p];
          });
        } catch (...) {
          in_order.fail();
          throw;
        }
      });
    }
    for (auto& shard : shards_) shard.adjoints.forget(0);
    return tree_sum(std::span<const double>(losses));
  }

 private:
  /// What one thread needs.
  struct Worker {
    Workbench bench;
    Floats gradient;
  };

  std::size_t check(std::span<const float> theta, std::span<const float> inputs, const Answers& answers,
                    std::span<const float> statistics, std::span<const float> out) const {
    const std::size_t rows = inputs.size() / layout_->input().size();
    if (rows == 0 || inputs.size() % layout_->input().size() != 0 || rows != answers.count())
      throw UsageError(
          fmt::format("a batch of {} numbers and {} answers: the network takes {} a row, at least one row",
                      inputs.size(), answers.count(), to_string(layout_->input())));
    if (answers.width() != layout_->output().size())
      throw UsageError(fmt::format("the network gives {} numbers a row, and answers have {}",
                                   layout_->output().size(), answers.width()));
    if (theta.size() != layout_->parameter_count() || out.size() != theta.size() ||
        statistics.size() != layout_->statistic_count())
      throw UsageError(
          fmt::format("{} parameters, {} derivatives and {} statistics for a network with {} parameters and "
                      "{} statistics",
                      theta.size(), out.size(), statistics.size(), layout_->parameter_count(),
                      layout_->statistic_count()));
    return rows;
  }

  void share_out(std::size_t rows) {
    if (rows != rows_) {
      shards_.clear();
      for (std::size_t first = 0; first < rows; first += shard_rows)
        shards_.emplace_back(plan_, std::min(shard_rows, rows - first));
      for (const auto& shard : shards_) plan_.prepare_backward(shard.rows);
      rows_ = rows;
    }
    if (!backward_weights_) backward_weights_ = plan_.make_backward_weights();
  }

  template <class Item>
  void for_each_shard(std::size_t count, const Item& item) {
    pool_->for_each(count, [&](std::size_t i) {
      const OneThread one_thread;
      std::unique_ptr<Worker> worker;
      {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
          worker = std::move(idle_.back());
          idle_.pop_back();
        }
      }
      if (!worker) {
        worker = std::make_unique<Worker>();
        worker->gradient.resize(theta_floats_.size());
      }
      item(i, *worker);
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(worker));
    });
  }

  /// The shard's part of the mean loss; its derivatives by the outputs are given to the adjoints.
  double loss(std::size_t i, std::size_t rows, const Answers& answers) {
    auto& shard = shards_[i];
    const std::size_t units = plan_.units().size(), outputs = shard.rows * layout_->output().size();
    Floats by_outputs = shard.adjoints.take(outputs);
    const double sum =
        likelihood_backward(answers, i * shard_rows, shard.rows, shard.tape.tensor(units), by_outputs.data());
    const double share = 1 / static_cast<double>(rows);
    for (std::size_t k = 0; k < outputs; ++k) by_outputs[k] *= static_cast<float>(-share);
    shard.adjoints.give(units, std::move(by_outputs), outputs);
    return answers.are_labels() ? -share * sum : 0.5 * share * sum;
  }

  /// Adds up over all shards what `add` finds in each: (shard, pixels, sums).
  template <class Add>
  ChannelSums sum_channels(const Shape& shape, const Add& add) {
    std::vector<ChannelSums> sums(shards_.size(), ChannelSums(shape.channels));
    for_each_shard(shards_.size(), [&](std::size_t i, Worker&) {
      add(shards_[i], shards_[i].rows * shape.height * shape.width, sums[i]);
    });
    return tree_sum(std::span<const ChannelSums>(sums));
  }

  void normalise(std::size_t u, std::size_t rows, std::span<float> statistics, double momentum) {
    const Unit& unit = plan_.units()[u];
    const std::size_t channels = unit.in.channels;
    const auto count = static_cast<double>(rows * unit.in.height * unit.in.width);
    auto means = sum_channels(unit.in, [&](Shard& shard, std::size_t pixels, ChannelSums& sums) {
                   add_numbers(channels, pixels, shard.tape.tensor(u), sums.first.data());
                 }).first;
    for (double& mean : means) mean /= count;
    const auto squares =
        sum_channels(unit.in, [&](Shard& shard, std::size_t pixels, ChannelSums& sums) {
          add_squares(channels, pixels, shard.tape.tensor(u), means.data(), sums.first.data());
        }).first;
    auto& moments = moments_[u];
    moments.mean.resize(channels);
    moments.inverse_sd.resize(channels);
    const double epsilon = std::get<BatchNorm>(unit.layer).epsilon;
    const float *scale = theta_floats_.data() + unit.begin, *shift = scale + channels;
    Floats affine(2 * channels);
    for (std::size_t c = 0; c < channels; ++c) {
      moments.mean[c] = static_cast<float>(means[c]);
      moments.inverse_sd[c] = static_cast<float>(1 / std::sqrt(squares[c] / count + epsilon));
      affine[c] = scale[c] * moments.inverse_sd[c];
      affine[channels + c] = shift[c] - affine[c] * moments.mean[c];
      const auto move = [&](float& running, double to) {
        running = static_cast<float>((1 - momentum) * running + momentum * to);
      };
      move(statistics[unit.norm + c], means[c]);
      // A single number has no unbiased variance.
      if (count > 1) move(statistics[unit.norm + channels + c], squares[c] / (count - 1));
    }
    for_each_shard(shards_.size(), [&](std::size_t i, Worker&) {
      auto& tape = shards_[i].tape;
      Stack made = tape.stack(u + 1);
      scale_channels(channels, shards_[i].rows * unit.in.height * unit.in.width, affine.data(), nullptr,
                     tape.stack(u), made, 0);
    });
  }

  /// The statistics depend on every row: by_in = scale/sd (by_out - mean(by_out) - x mean(x by_out)), x being
  /// the normalised numbers.
  void backward_norm(std::size_t u, std::size_t rows, std::span<float> out) {
    const Unit& unit = plan_.units()[u];
    const std::size_t channels = unit.in.channels;
    const auto count = static_cast<double>(rows * unit.in.height * unit.in.width);
    const auto& moments = moments_[u];
    const auto sums = sum_channels(unit.in, [&](Shard& shard, std::size_t pixels, ChannelSums& into) {
      add_derivatives(channels, pixels, shard.adjoints.by(u + 1).data(), shard.tape.tensor(u),
                      moments.mean.data(), moments.inverse_sd.data(), into.first.data(), into.second.data());
    });
    // by_in = a by_out + b x + c, x being the numbers before.
    std::vector<float> a(channels), b(channels), shift(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      out[unit.begin + c] = static_cast<float>(sums.second[c]);
      out[unit.begin + channels + c] = static_cast<float>(sums.first[c]);
      a[c] = theta_floats_[unit.begin + c] * moments.inverse_sd[c];
      b[c] = -a[c] * moments.inverse_sd[c] * static_cast<float>(sums.second[c] / count);
      shift[c] = -a[c] * static_cast<float>(sums.first[c] / count) - b[c] * moments.mean[c];
    }
    for_each_shard(shards_.size(), [&](std::size_t i, Worker&) {
      auto& shard = shards_[i];
      const std::size_t size = shard.rows * unit.in.size();
      Floats by_in = shard.adjoints.take(size);
      combine(channels, size / channels, shard.adjoints.by(u + 1).data(), shard.tape.tensor(u), a.data(),
              b.data(), shift.data(), by_in.data());
      shard.adjoints.give(u, std::move(by_in), size);
      shard.adjoints.forget(u + 1);
    });
  }

  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<ThreadPool> pool_;
  Plan plan_;
  Floats theta_floats_;
  Weights theta_;
  std::optional<std::vector<PackedWeights>> backward_weights_;
  std::vector<Moments> moments_;  // a unit each
  std::vector<Shard> shards_;
  std::size_t rows_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

Training::Training(std::shared_ptr<const Layout> layout, std::shared_ptr<ThreadPool> pool)
    : implementation_(std::make_unique<Implementation>(std::move(layout), std::move(pool))) {}
Training::Training(Training&&) noexcept = default;
Training& Training::operator=(Training&&) noexcept = default;
Training::~Training() = default;

double Training::gradient(std::span<const float> theta, std::span<const float> inputs,
                          std::span<const std::uint8_t> labels, std::span<float> statistics, double momentum,
                          std::span<float> out) {
  return implementation_->gradient(theta, inputs, Answers::labels(implementation_->outputs(), labels),
                                   statistics, momentum, out);
}
double Training::gradient(std::span<const float> theta, std::span<const float> inputs,
                          std::span<const float> answers, std::span<float> statistics, double momentum,
                          std::span<float> out) {
  return implementation_->gradient(
      theta, inputs, Answers::values(implementation_->outputs(), {answers.begin(), answers.end()}),
      statistics, momentum, out);
}

}  // namespace onward::net
