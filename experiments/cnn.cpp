#include "cnn.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "checks.hpp"
#include "cnn_samplers.hpp"
#include "onward/error.hpp"
#include "onward/net/weights.hpp"
#include "onward/util/clock.hpp"
#include "rows.hpp"

namespace onward::experiments {
namespace {

using net::GradientForm;
using nlohmann::ordered_json;

ordered_json to_json(const CnnScores& scores) {
  return {{"accuracy", scores.accuracy}, {"ece", scores.ece}, {"nll", scores.nll}};
}

CnnScores scores_from_json(const ordered_json& json) {
  const auto number = number_from_json;
  return {number(json.at("accuracy")), number(json.at("ece")), number(json.at("nll"))};
}

CnnChain chain_from_json(const ordered_json& json) {
  CnnChain chain;
  if (!json.at("step_size").is_null()) chain.step_size = json.at("step_size").get<double>();
  chain.seed = json.at("seed");
  chain.test = scores_from_json(json.at("test"));
  chain.held_out = scores_from_json(json.at("held_out"));
  chain.acceptance = number_from_json(json.at("acceptance"));
  chain.log_density = number_from_json(json.at("log_density"));
  chain.rms_move = number_from_json(json.at("rms_move"));
  chain.seconds_per_step = json.at("seconds_per_step");
  return chain;
}

CnnStart start_from_json(const ordered_json& json) {
  return {scores_from_json(json.at("test")), scores_from_json(json.at("held_out")),
          number_from_json(json.at("log_density")), json.at("dimension")};
}

CnnTimingRow timing_from_json(const ordered_json& json) {
  CnnTimingRow row;
  row.sampler = json.at("sampler");
  for (const auto form : {GradientForm::whole, GradientForm::pieces, GradientForm::checkpoint})
    if (json.at("gradient") == word_of(form)) row.form = form;
  row.images = json.at("images");
  row.dimension = json.at("dimension");
  row.needed_bytes = json.at("needed_bytes");
  row.refused = json.at("refused");
  row.seconds_per_step = json.at("seconds_per_step");
  row.sd = json.at("seconds_sd");
  row.steps = json.at("steps");
  row.peak_bytes = json.at("peak_bytes");
  return row;
}

/// Tells files of weights apart (FNV-1a).
std::string fingerprint(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::istreambuf_iterator<char> byte(in), end; byte != end; ++byte)
    hash = (hash ^ static_cast<unsigned char>(*byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

/// Makes rows one after the other and tells how much of all work is done, in plain evaluations of one image.
class Rows {
 public:
  Rows(const CnnSettings& s, const CnnData& data, const CnnProgress& progress, const std::atomic<bool>& stop)
      : s_(s), data_(data), progress_(progress), stop_(stop) {
    if (!s.start.empty()) weights_ = fingerprint(s.start);
    for (const auto& sampler : s.samplers) {
      if (s.quality)
        total_ += static_cast<double>(cnn_grid(s, sampler).size() + s.seeds - 1) * chain_price(sampler);
      for (const std::size_t images : s.sizes)
        if (s.timing)
          total_ +=
              static_cast<double>(forms_of(find_cnn_sampler(sampler)).size()) * timing_price(sampler, images);
    }
  }

  std::optional<CnnStart> start() {
    // That of --pretrain, which knows nothing of the chains to come, is made anew: it takes a second.
    const auto row = make(
        "start", shared_settings(), 0,
        [&](const Share&) -> ordered_json { return to_json(cnn_start(s_, data_)); }, true);
    return row ? std::optional(start_from_json(*row)) : std::nullopt;
  }

  std::optional<CnnChain> chain(const std::string& sampler, const std::optional<double>& step_size,
                                std::uint64_t seed) {
    ordered_json settings = shared_settings();
    settings["sampler"] = sampler;
    settings["step_size"] = step_size ? ordered_json(*step_size) : ordered_json(nullptr);
    settings["seed"] = seed;
    settings["chains"] = s_.chains;
    settings["draws"] = s_.draws;
    settings["predicted"] = s_.predicted;
    const std::string name =
        fmt::format("{}{}-seed-{}", sampler, step_size ? fmt::format("-{:.4g}", *step_size) : "", seed);
    const auto row = make(name, settings, chain_price(sampler), [&](const Share& share) -> ordered_json {
      return to_json(cnn_chain(s_, data_, sampler, step_size, seed, share));
    });
    return row ? std::optional(chain_from_json(*row)) : std::nullopt;
  }

  std::optional<CnnTimingRow> timing(const std::string& sampler, const std::optional<GradientForm>& form,
                                     std::size_t images) {
    const ordered_json settings{{"sampler", sampler},
                                {"gradient", form ? ordered_json(word_of(*form)) : ordered_json(nullptr)},
                                {"images", images},
                                {"steps", timed_steps(s_, images)},
                                {"memory_limit", s_.memory_limit},
                                {"width", s_.width},
                                {"threads", s_.threads},
                                {"data", data_settings(s_.data)}};
    const std::string name =
        fmt::format("time-{}{}-{}", sampler, form ? fmt::format("-{}", word_of(*form)) : "", images);
    const auto row = make(name, settings, timing_price(sampler, images), [&](const Share& share) {
      return to_json(cnn_timing(s_, data_, sampler, form, images, share));
    });
    return row ? std::optional(timing_from_json(*row)) : std::nullopt;
  }

 private:
  double chain_price(const std::string& sampler) const {
    const std::size_t tests = s_.held_out + test_rows(s_, data_).count();
    return static_cast<double>(s_.chains) *
           (find_cnn_sampler(sampler).price * static_cast<double>(s_.draws * s_.images) +
            static_cast<double>(s_.predicted * tests));
  }
  double timing_price(const std::string& sampler, std::size_t images) const {
    return find_cnn_sampler(sampler).price * static_cast<double>((timed_steps(s_, images) + 1) * images);
  }

  ordered_json shared_settings() const {
    return {{"weights", weights_},           {"width", s_.width},
            {"images", s_.images},           {"held_out", s_.held_out},
            {"test_images", s_.test_images}, {"prior_sd", s_.prior_sd},
            {"data", data_settings(s_.data)}};
  }

  template <class Work>
  std::optional<ordered_json> make(const std::string& name, const ordered_json& settings, double price,
                                   const Work& work, bool replaces = false) {
    const RowJob job{name, settings, work, replaces};
    if (has_row(s_.folder, job)) {
      total_ -= price;
      price = 0;
    }
    const auto tell = [&](double share) {
      if (progress_ && total_ > 0) progress_((done_ + share * price) / total_);
    };
    tell(0);
    auto row = make_row(s_.folder, job, tell, stop_);
    done_ += price;
    return row;
  }

  const CnnSettings& s_;
  const CnnData& data_;
  CnnProgress progress_;
  const std::atomic<bool>& stop_;
  std::string weights_;
  double total_ = 0, done_ = 0;
};

}  // namespace

void validate(const CnnSettings& s) {
  if (s.samplers.empty()) throw UsageError("there are no samplers: name at least one");
  for (const auto& sampler : s.samplers) find_cnn_sampler(sampler);
  check_at_least("width", s.width, 1);
  check_positive("prior sd", s.prior_sd);
  check_at_least("images", s.images, 1);
  check_at_least("held-out", s.held_out, 1);
  check_at_least("chains", s.chains, 1);
  check_at_least("draws", s.draws, 1);
  check_at_least("predicted", s.predicted, 1);
  check_at_least("grid", s.grid, 1);
  check_at_least("seeds", s.seeds, 1);
  if (s.sizes.empty()) throw UsageError("there are no sizes: give at least one number of images");
  for (const std::size_t images : s.sizes) check_at_least("sizes", images, 1);
  const auto once = [](const char* what, const auto& list) {
    for (auto it = list.begin(); it != list.end(); ++it)
      if (std::find(list.begin(), it, *it) != it)
        throw UsageError(fmt::format("{} {} is named twice: name it once", what, *it));
  };
  once("sampler", s.samplers);
  once("size", s.sizes);
  if (!(s.memory_limit >= 0) || !std::isfinite(s.memory_limit))
    throw UsageError(
        fmt::format("memory limit {} is not usable: it must be a number of bytes above 0, or 0 "
                    "for what the machine has",
                    s.memory_limit));
  for (const auto& [sampler, step_size] : s.step_sizes) {
    if (!find_cnn_sampler(sampler).has_step_size())
      throw UsageError(fmt::format("{} has no step size", sampler));
    check_positive("step size of " + sampler, step_size);
  }
}

void check_cnn(const CnnSettings& s, const CnnData& data) {
  const auto enough = [](const char* what, std::size_t wanted, std::size_t there, const std::string& which) {
    if (wanted > there)
      throw UsageError(fmt::format("{} {} is too many: there are {} {}", what, wanted, there, which));
  };
  if (s.quality) {
    enough("images", s.images, data.train_count() - s.held_out,
           fmt::format("training images besides the {} that are held out", s.held_out));
    enough("test images", s.test_images, data.test.count(), "test images");
  }
  if (s.timing) {
    for (const std::size_t images : s.sizes) enough("sizes", images, data.train_count(), "training images");
    const RowJob check{"check", {}, [&](const Share&) -> ordered_json {
                         check_cnn_memory(s, data);
                         return true;
                       }};
    if (s.memory_limit > 0) make_row("", check, {}, std::atomic<bool>{false});
  }
}

CnnData load_cnn(const CnnSettings& s) {
  validate(s);
  CnnData data = load_cnn_data(s.data, s.held_out);
  check_cnn(s, data);
  if (s.quality) net::read_weights(s.start, net::Layout(net::paper_cnn(true, s.width)));
  return data;
}

std::vector<std::optional<double>> cnn_grid(const CnnSettings& s, const std::string& name) {
  const CnnSampler& sampler = find_cnn_sampler(name);
  if (!sampler.has_step_size()) return {std::nullopt};
  if (const auto given = s.step_sizes.find(name); given != s.step_sizes.end()) return {given->second};
  std::vector<std::optional<double>> steps;
  const std::size_t count = sampler.shortest < sampler.longest ? s.grid : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.5;
    steps.emplace_back(sampler.shortest * std::pow(sampler.longest / sampler.shortest, share));
  }
  return steps;
}

const CnnChain& best_of(const std::vector<CnnChain>& grid) {
  // A chain without a number is worse than any other.
  const auto nll = [](const CnnChain& chain) {
    return std::isfinite(chain.held_out.nll) ? chain.held_out.nll : HUGE_VAL;
  };
  return *std::min_element(grid.begin(), grid.end(),
                           [&](const CnnChain& a, const CnnChain& b) { return nll(a) < nll(b); });
}

std::optional<CnnTable> cnn_table(const CnnSettings& s, const CnnData& data, const CnnProgress& progress,
                                  const std::atomic<bool>& stop) {
  validate(s);
  const auto begin = Clock::now();
  CnnTable table{s, {}, {}, {}, 0};
  Rows rows(s, data, progress, stop);
  if (s.quality) {
    table.start = rows.start();
    if (!table.start) return std::nullopt;
    for (const auto& sampler : s.samplers) {
      CnnQualityRow row{sampler, {}, {}};
      for (const auto& step_size : cnn_grid(s, sampler)) {
        const auto chain = rows.chain(sampler, step_size, s.seed);
        if (!chain) return std::nullopt;
        row.grid.push_back(*chain);
      }
      row.chains.push_back(best_of(row.grid));
      for (std::size_t i = 1; i < s.seeds; ++i) {
        const auto chain = rows.chain(sampler, row.chains[0].step_size, s.seed + i);
        if (!chain) return std::nullopt;
        row.chains.push_back(*chain);
      }
      table.quality.push_back(std::move(row));
    }
  }
  if (s.timing)
    for (const std::size_t images : s.sizes)
      for (const auto& sampler : s.samplers)
        for (const auto& form : forms_of(find_cnn_sampler(sampler))) {
          const auto row = rows.timing(sampler, form, images);
          if (!row) return std::nullopt;
          table.timing.push_back(*row);
        }
  table.seconds = seconds_since(begin);
  return table;
}

std::optional<CnnStart> cnn_start_row(const CnnSettings& s, const CnnData& data,
                                      const std::atomic<bool>& stop) {
  return Rows(s, data, {}, stop).start();
}

ordered_json to_json(const CnnStart& start) {
  return {{"test", to_json(start.test)},
          {"held_out", to_json(start.held_out)},
          {"log_density", start.log_density},
          {"dimension", start.dimension}};
}

ordered_json to_json(const CnnChain& chain) {
  return {{"step_size", chain.step_size ? ordered_json(*chain.step_size) : ordered_json(nullptr)},
          {"seed", chain.seed},
          {"test", to_json(chain.test)},
          {"held_out", to_json(chain.held_out)},
          {"acceptance", chain.acceptance},
          {"log_density", chain.log_density},
          {"rms_move", chain.rms_move},
          {"seconds_per_step", chain.seconds_per_step}};
}

ordered_json to_json(const CnnTimingRow& row) {
  return {{"sampler", row.sampler},
          {"gradient", row.form ? ordered_json(word_of(*row.form)) : ordered_json(nullptr)},
          {"images", row.images},
          {"dimension", row.dimension},
          {"needed_bytes", row.needed_bytes},
          {"refused", row.refused},
          {"seconds_per_step", row.seconds_per_step},
          {"seconds_sd", row.sd},
          {"steps", row.steps},
          {"peak_bytes", row.peak_bytes}};
}

std::optional<PublishedCnnQuality> published_cnn_quality(std::string_view sampler) {
  if (sampler == "fmala") return PublishedCnnQuality{0.7977, 0.0022, 0.0250, 0.0014};
  if (sampler == "line-fmala") return PublishedCnnQuality{0.7971, 0.0024, 0.0287, 0.0031};
  if (sampler == "pc-line-fmala") return PublishedCnnQuality{0.7964, 0.0019, 0.0285, 0.0019};
  if (sampler == "mala") return PublishedCnnQuality{0.7979, 0.0022, 0.0263, 0.0026};
  return std::nullopt;
}

std::optional<PublishedCnnTime> published_cnn_time(std::string_view sampler, std::size_t images) {
  struct Entry {
    std::string_view sampler;
    PublishedCnnTime at_10000, at_30000, at_50000;
  };
  constexpr PublishedCnnTime out_of_memory{};
  static constexpr Entry entries[] = {{"fmala", {0.3979, 0.0008}, {0.9645, 0.0013}, {1.5475, 0.0054}},
                                      {"line-fmala", {0.3417, 0.0006}, {0.9089, 0.0025}, {1.4834, 0.0031}},
                                      {"pc-fmala", {0.5283, 0.0021}, {1.3480, 0.0012}, {2.1750, 0.0019}},
                                      {"pc-line-fmala", {0.4706, 0.0009}, {1.2877, 0.0017}, {2.0982, 0.0033}},
                                      {"mala", {0.5160, 0.0025}, out_of_memory, out_of_memory}};
  for (const auto& entry : entries) {
    if (entry.sampler != sampler) continue;
    if (images == 10'000) return entry.at_10000;
    if (images == 30'000) return entry.at_30000;
    if (images == 50'000) return entry.at_50000;
  }
  return std::nullopt;
}

}  // namespace onward::experiments
