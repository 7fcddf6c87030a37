// What a row of cnn.hpp's tables does in its process.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cnn.hpp"
#include "cnn_samplers.hpp"
#include "network_model.hpp"
#include "onward/error.hpp"
#include "onward/net/predictive.hpp"
#include "onward/net/weights.hpp"
#include "onward/target/target.hpp"
#include "onward/util/clock.hpp"
#include "onward/util/memory.hpp"
#include "stepper.hpp"

namespace onward::experiments {
namespace {

using net::GradientForm;

constexpr double timing_step_size = 1e-4;  // the paper's

/// The posterior of the paper's network, with or without batch norms, on the first so many images.
net::NetworkPosterior make_posterior(const CnnSettings& s, const CnnData& data, std::size_t images,
                                     bool batch_norm, nlohmann::ordered_json options) {
  options.update(cifar10_pixels());
  options["images"] = images;
  options["prior_sd"] = s.prior_sd;
  return network_posterior(network_model(net::paper_cnn(batch_norm, s.width), std::move(options),
                                         {{"x", data.pixels}, {"y", data.labels}}),
                           threads_or_all(s.threads));
}

/// The posterior of the network that was trained, and its weights.
struct Problem {
  net::NetworkPosterior posterior;
  std::vector<double> start;
};

Problem load_problem(const CnnSettings& s, const CnnData& data) {
  auto posterior = make_posterior(s, data, s.images, true, {{"statistics", s.start}});
  auto weights = net::read_weights(s.start, posterior.network().layout);
  return {std::move(posterior), std::move(weights.parameters)};
}

/// How well draws predict some images.
class PredictedImages {
 public:
  explicit PredictedImages(const net::Data& data)
      : data_(data),
        outputs_(data.count() * data.answers.width()),
        predictive_(true, data.count(), data.answers.width(), data.answers) {}

  void add(net::NetworkPosterior& posterior, VectorView theta) {
    posterior.predict(theta, data_.inputs, outputs_);
    predictive_.add(outputs_);
  }
  CnnScores scores() const {
    const net::Scores scores = predictive_.scores();
    return {*scores.accuracy, *scores.ece, scores.nll};
  }

 private:
  net::Data data_;
  std::vector<float> outputs_;
  net::Predictive predictive_;
};

/// Estimated before anything starts. Kernels hold about a dozen vectors of all that is sampled.
double needed_bytes(const net::NetworkPosterior& posterior, const CnnSampler& sampler,
                    const std::optional<GradientForm>& form) {
  const std::size_t model = form ? posterior.gradient_bytes(*form) : posterior.jet_bytes(sampler.order);
  return 12.0 * sizeof(double) * static_cast<double>(posterior.dimension()) + static_cast<double>(model);
}

double memory_limit(const CnnSettings& s) { return s.memory_limit > 0 ? s.memory_limit : machine_bytes(); }

/// The posterior for timing, in pieces small enough for the limit; whole batches are what they are.
net::NetworkPosterior timed_posterior(const CnnSettings& s, const CnnData& data, std::size_t images,
                                      const CnnSampler& sampler, const std::optional<GradientForm>& form) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  if (form) options["gradient"] = word_of(*form);
  net::NetworkPosterior posterior = make_posterior(s, data, images, false, options);
  if (form == GradientForm::whole) return posterior;
  const auto too_much = [&] { return needed_bytes(posterior, sampler, form) > memory_limit(s); };
  while (too_much() && posterior.options().piece > 1) {
    options["piece"] = posterior.options().piece / 2;
    posterior = make_posterior(s, data, images, false, options);
  }
  if (too_much())
    throw Error(fmt::format(
        "a memory limit of {} is too little: {} takes {} for {} parameters and a piece of one image",
        shown_bytes(memory_limit(s)), sampler.name, shown_bytes(needed_bytes(posterior, sampler, form)),
        posterior.dimension()));
  return posterior;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double mean_square_distance(VectorView a, VectorView b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return squares / static_cast<double>(a.size());
}

}  // namespace

net::Data test_rows(const CnnSettings& s, const CnnData& data) {
  return s.test_images == 0 ? data.test : data.test.first(s.test_images);
}

std::size_t timed_steps(const CnnSettings& s, std::size_t images) {
  constexpr std::size_t few_images = 10'000;
  if (s.timing_steps > 0) return s.timing_steps;
  return images <= few_images ? 3 : 1;
}

CnnStart cnn_start(const CnnSettings& s, const CnnData& data) {
  Problem problem = load_problem(s, data);
  PredictedImages test(test_rows(s, data)), held_out(data.held_out);
  test.add(problem.posterior, problem.start);
  held_out.add(problem.posterior, problem.start);
  return {test.scores(), held_out.scores(), problem.posterior.jet(problem.start, {}, Order::value).value,
          problem.posterior.dimension()};
}

CnnChain cnn_chain(const CnnSettings& s, const CnnData& data, const std::string& name,
                   std::optional<double> step_size, std::uint64_t seed,
                   const std::function<void(double)>& progress) {
  Problem problem = load_problem(s, data);
  Stepper chain(problem.posterior, kernel_settings(find_cnn_sampler(name), step_size), problem.start, seed);
  PredictedImages test(test_rows(s, data)), held_out(data.held_out);
  CnnChain result;
  result.step_size = step_size;
  result.seed = seed;
  std::vector<double> acceptances, log_densities, squares;
  double seconds = 0;
  const std::size_t predicted = std::min(s.predicted, s.draws), steps = s.chains * s.draws;
  for (std::size_t c = 0; c < s.chains; ++c) {
    chain.begin_again(static_cast<std::uint32_t>(c));
    for (std::size_t i = 1, predictions = 0; i <= s.draws; ++i) {
      const auto begin = Clock::now();
      acceptances.push_back(chain.step().acceptance);
      seconds += seconds_since(begin);
      if (2 * i > s.draws) log_densities.push_back(chain.state().value);
      if (i * predicted >= (predictions + 1) * s.draws) {
        ++predictions;
        test.add(problem.posterior, chain.state().position);
        held_out.add(problem.posterior, chain.state().position);
      }
      if (progress) progress(static_cast<double>(c * s.draws + i) / static_cast<double>(steps));
    }
    squares.push_back(mean_square_distance(problem.start, chain.state().position));
  }
  result.test = test.scores();
  result.held_out = held_out.scores();
  result.acceptance = mean(acceptances);
  result.log_density = mean(log_densities);
  result.rms_move = std::sqrt(mean(squares));
  result.seconds_per_step = seconds / static_cast<double>(steps);
  return result;
}

CnnTimingRow cnn_timing(const CnnSettings& s, const CnnData& data, const std::string& name,
                        std::optional<GradientForm> form, std::size_t images,
                        const std::function<void(double)>& progress) {
  const CnnSampler& sampler = find_cnn_sampler(name);
  forget_peak();
  const double before = resident_bytes();
  CnnTimingRow row;
  row.sampler = name;
  row.form = form;
  row.images = images;
  net::NetworkPosterior posterior = timed_posterior(s, data, images, sampler, form);
  row.dimension = posterior.dimension();
  row.needed_bytes = needed_bytes(posterior, sampler, form);
  row.refused = row.needed_bytes > memory_limit(s);
  if (row.refused) return row;
  auto start = net::lecun_start(posterior.network().layout, s.seed);
  Stepper chain(std::move(posterior), kernel_settings(sampler, timing_step_size), std::move(start), s.seed);
  row.steps = timed_steps(s, images);
  std::vector<double> seconds;
  // The first step is not counted: it evaluates at the start too, and makes its memory. Nor is line-fmala's
  // second: from then on it takes slopes along two lines at once, if steps are accepted.
  const std::size_t uncounted = name == "line-fmala" ? 2 : 1, all = uncounted + row.steps;
  for (std::size_t i = 0; i < all; ++i) {
    const auto begin = Clock::now();
    chain.step();
    if (i >= uncounted) seconds.push_back(seconds_since(begin));
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(all));
  }
  row.seconds_per_step = mean(seconds);
  for (const double one : seconds) row.sd += (one - row.seconds_per_step) * (one - row.seconds_per_step);
  row.sd = row.steps > 1 ? std::sqrt(row.sd / static_cast<double>(row.steps - 1)) : 0;
  row.peak_bytes = peak_resident_bytes() - before;
  return row;
}

void check_cnn_memory(const CnnSettings& s, const CnnData& data) {
  for (const auto& name : s.samplers)
    for (const auto& form : forms_of(find_cnn_sampler(name)))
      timed_posterior(s, data, 1, find_cnn_sampler(name), form);
}

}  // namespace onward::experiments
