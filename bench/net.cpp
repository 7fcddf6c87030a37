// The paper's two networks: what jets cost beside plain evaluations, plain evaluations beside the machine's
// own matrix product, steps beside PyTorch's, and what memory all of it needs.

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench.hpp"
#include "experiments/network_model.hpp"
#include "experiments/rows.hpp"
#include "experiments/stepper.hpp"
#include "onward/net/posterior.hpp"
#include "onward/random/stream.hpp"
#include "onward/util/memory.hpp"
#include "peers.hpp"

namespace onward::bench {
namespace {

using namespace net;
using experiments::Stepper;

constexpr std::size_t timed_images = 500;

/// Random numbers serve: times and memory do not depend on what the data are.
std::vector<double> normals(std::uint64_t seed, std::size_t count, double scale) {
  std::vector<double> numbers(count);
  Stream(seed, 0).normals(0, Purpose::start, numbers);
  for (double& x : numbers) x *= scale;
  return numbers;
}

std::vector<float> float_normals(std::uint64_t seed, std::size_t count) {
  const auto numbers = normals(seed, count, 1);
  return {numbers.begin(), numbers.end()};
}

/// With its parameters somewhere near a usual start.
struct Case {
  NetworkPosterior posterior;
  std::vector<double> theta;
};

using Arrays = std::map<std::string, Array>;

Case make_case(const Description& description, Arrays arrays, nlohmann::ordered_json options,
               std::size_t threads) {
  options["show_rows"] = 1;
  const Layout layout(description);
  auto theta = normals(3, layout.parameter_count(), 1);
  for (const Tensor& tensor : layout.parameters()) {
    const std::size_t inputs = tensor.shape.size() > 1 ? tensor.size / tensor.shape[0] : 100;
    const double scale = std::sqrt(1 / static_cast<double>(inputs));
    for (std::size_t i = 0; i < tensor.size; ++i) theta[tensor.offset + i] *= scale;
  }
  return {experiments::network_posterior(
              experiments::network_model(description, std::move(options), std::move(arrays)), threads),
          std::move(theta)};
}

Case regression_net(std::size_t threads) {
  return make_case(mlp(1, {100, 100, 100, 100, 100}, 1),
                   {{"x", Array::of(float_normals(1, 400))}, {"y", Array::of(float_normals(2, 400))}},
                   {{"sigma", 0.025}}, threads);
}

Case cnn(std::size_t images, std::size_t threads, std::size_t kept_bytes = 0) {
  nlohmann::ordered_json options = experiments::cifar10_pixels();
  options["prior_sd"] = 10;
  options["keep_activations"] = kept_bytes;
  return make_case(paper_cnn(), experiments::made_images(images), std::move(options), threads);
}

Row at_most(const std::string& name, double value, const std::string& unit, double most) {
  Row row{name, value, unit};
  row.bar = fmt::format("<= {}", most);
  row.met = value <= most;
  return row;
}

/// Ours in milliseconds beside a peer's; the ratio is how many times faster ours is.
Row beside(const std::string& name, double ours, const std::string& peer, const std::optional<double>& theirs,
           std::optional<double> least = {}) {
  Row row{name, ours, "ms"};
  if (!theirs) return row;
  row.peer = peer;
  row.peer_value = theirs;
  row.ratio = *theirs / ours;
  if (!least) return row;
  row.bar = fmt::format("ratio >= {}", *least);
  row.met = *row.ratio >= *least;
  return row;
}

/// Seconds of a plain evaluation.
double add_jet_rows(std::vector<Row>& rows, const std::string& name, Case& c) {
  auto v = normals(4, c.theta.size(), 1 / std::sqrt(static_cast<double>(c.theta.size())));
  // Each time at another place: what is known of the last two must not help.
  const auto elsewhere = [&] { c.theta[0] = 0.1 + std::fmod(c.theta[0] + 1e-3, 0.1); };
  const auto jet = [&, elsewhere](Order order) {
    return [&, elsewhere, order] {
      elsewhere();
      keep(c.posterior.jet(c.theta, v, order).value);
    };
  };
  const Pair slope = time_pair(jet(Order::value), jet(Order::slope));
  const Pair curvature = time_pair(jet(Order::value), jet(Order::curvature));
  rows.push_back(
      at_most(name + ", order-1 jet over a plain evaluation", slope.second / slope.first, "", 3.1));
  rows.push_back(
      at_most(name + ", order-2 jet over a plain evaluation", curvature.second / curvature.first, "", 5.2));
  std::vector<double> gradient(c.theta.size());
  const Pair reverse = time_pair(jet(Order::value), [&] { keep(c.posterior.gradient(c.theta, gradient)); });
  rows.push_back({name + ", gradient in pieces over a plain evaluation", reverse.second / reverse.first, ""});
  return std::min({slope.first, curvature.first, reverse.first});
}

/// oneDNN's, on all threads, of 2048 x 2048 matrices.
double sgemm_gflops() {
  constexpr dnnl_dim_t n = 2048;
  const std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f);
  std::vector<float> c(n * n);
  const auto multiply = [&] {
    dnnl_sgemm('N', 'N', n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n);
    keep(c[0]);
  };
  return 2e-9 * n * n * n / time_pair(multiply, [] {}).first;
}

void add_step_rows(std::vector<Row>& rows, const std::string& name, const Case& c, double plain_seconds,
                   const std::optional<nlohmann::json>& peer, bool is_cnn) {
  const auto theirs = [&](const char* key) {
    return peer ? std::optional(peer->at(key).get<double>()) : std::nullopt;
  };
  const double small = is_cnn ? 1e-8 : 1e-6;  // steps that are accepted
  const auto stepper = [&](const KernelSettings& settings) {
    return Stepper(c.posterior, settings, c.theta);
  };
  Stepper line =
      stepper({.sampler = "line-fmala", .step_size = small, .options = {{"bias_correction", "coupled"}}});
  Stepper fmala =
      stepper({.sampler = "fmala", .step_size = small, .options = {{"bias_correction", "coupled"}}});
  Stepper mala = stepper({.sampler = "mala", .step_size = small});
  const Pair steps = time_pair([&] { line.step(); }, [&] { fmala.step(); });
  const double mala_step = time_pair([&] { mala.step(); }, [] {}).first;
  const std::string same = "PyTorch, the same", mala_kept = "PyTorch, mala step, gradient kept";
  rows.push_back(beside(name + ", plain evaluation", 1e3 * plain_seconds, same, theirs("value_ms"),
                        is_cnn ? std::optional(2.2) : std::nullopt));
  rows.push_back(
      beside(name + ", line-fmala step", 1e3 * steps.first, same, theirs("line_fmala_ms"), is_cnn ? 2 : 6));
  rows.push_back(beside(name + ", line-fmala step", 1e3 * steps.first, mala_kept, theirs("mala_ms"),
                        is_cnn ? std::nullopt : std::optional(5.0)));
  rows.push_back(beside(name + ", fmala step with one jet", 1e3 * steps.second, mala_kept, theirs("mala_ms"),
                        is_cnn ? std::optional(1.0) : std::nullopt));
  rows.push_back(
      beside(name + ", mala step, gradient kept", 1e3 * mala_step, "PyTorch, the same", theirs("mala_ms")));
  if (peer)
    rows.push_back({"PyTorch's peak memory, " + name, peer->at("peak_rss_bytes").get<double>() / 1e6, "MB"});
}

/// Lines within the layer that holds most parameters, the activations below it kept or not.
void add_block_rows(std::vector<Row>& rows, std::size_t threads) {
  Case plain = cnn(timed_images, threads), keeping = cnn(timed_images, threads, std::size_t{1} << 28);
  const auto& steps = plain.posterior.network().layout.steps();
  const auto largest = std::max_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return a.end - a.begin < b.end - b.begin;
  });
  auto v = normals(5, plain.theta.size(), 1e-3), all = v;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (i < largest->begin || i >= largest->end) v[i] = 0;
  const auto jet = [&](Case& c, const std::vector<double>& direction) {
    return [&] { keep(c.posterior.jet(c.theta, direction, Order::slope).value); };
  };
  const Pair kept = time_pair(jet(keeping, v), jet(plain, all));
  const Pair recomputed = time_pair(jet(plain, v), jet(plain, all));
  const auto row = [&](const std::string& what, const Pair& pair) {
    Row made{"CNN, order-1 jet within layer " + std::to_string(largest - steps.begin()) +
                 ", activations below it " + what,
             1e3 * pair.first, "ms"};
    made.peer = "along all parameters";
    made.peer_value = 1e3 * pair.second;
    made.ratio = pair.second / pair.first;
    rows.push_back(made);
  };
  row("kept", kept);
  row("recomputed", recomputed);
}

/// The most memory that a process of its own took for `work` beyond what make() left it with (the data).
template <class Make, class Work>
double peak_megabytes(const Make& make, const Work& work) {
  const std::atomic<bool> stop{false};
  const auto row = experiments::make_row("",
                                         {"memory",
                                          {},
                                          [&](const experiments::Share&) -> nlohmann::ordered_json {
                                            auto made = make();
                                            forget_peak();
                                            const double before = resident_bytes();
                                            work(made);
                                            return {{"bytes", peak_resident_bytes() - before}};
                                          }},
                                         {}, stop);
  return row->at("bytes").template get<double>() / 1e6;
}

/// A second step of line-fmala, if the first is accepted, takes slopes along two lines in one pass.
void take_steps(Case& c, const std::string& sampler, Vectors vectors = Vectors::held) {
  Stepper stepper(std::move(c.posterior), {.sampler = sampler, .step_size = 1e-8, .vectors = vectors},
                  std::move(c.theta));
  stepper.step();
  if (sampler == "line-fmala") stepper.step();
}

void add_memory_rows(std::vector<Row>& rows, std::size_t threads, const Hears& hears) {
  const auto forward_kernels = {"rwm", "fmala", "line-fmala", "pc-fmala", "pc-line-fmala"};
  std::vector<double> few;
  const auto cnn_of = [threads](std::size_t images) { return [=] { return cnn(images, threads); }; };
  for (const std::string sampler : forward_kernels) {
    hears("memory of the CNN, 1,000 images, " + sampler);
    few.push_back(peak_megabytes(cnn_of(1'000), [&](Case& c) { take_steps(c, sampler); }));
    rows.push_back(
        at_most("CNN, 1,000 images, " + sampler + ", peak memory over the data", few.back(), "MB", 300));
  }
  for (const std::string sampler : forward_kernels) {
    hears("memory of the CNN, 1,000 images, vectors regenerated, " + sampler);
    rows.push_back(
        {"CNN, 1,000 images, " + sampler + ", vectors regenerated, peak memory over the data",
         peak_megabytes(cnn_of(1'000), [&](Case& c) { take_steps(c, sampler, Vectors::regenerated); }),
         "MB"});
  }
  std::size_t which = 0;
  for (const std::string sampler : forward_kernels) {
    hears("memory of the CNN, 50,000 images, " + sampler);
    const double many = peak_megabytes(cnn_of(50'000), [&](Case& c) { take_steps(c, sampler); });
    rows.push_back(
        at_most("CNN, 50,000 images, " + sampler + ", peak memory over the data", many, "MB", 300));
    rows.push_back(at_most("CNN, " + sampler + ", 50,000 images over 1,000", many / few[which++], "", 1.05));
  }
  for (const auto& [form, name] :
       {std::pair{GradientForm::whole, "whole"}, std::pair{GradientForm::pieces, "pieces"},
        std::pair{GradientForm::checkpoint, "checkpoint"}}) {
    const double peak = peak_megabytes(cnn_of(1'000), [wanted = form](Case& c) {
      std::vector<double> gradient(c.theta.size());
      c.posterior.gradient(c.theta, gradient, wanted);
    });
    rows.push_back(
        {fmt::format("CNN, 1,000 images, gradient, form {}, peak memory over the data", name), peak, "MB"});
  }
  hears("memory of the regression net and of deeper ones");
  double most = 0;
  for (const std::string sampler : forward_kernels)
    most = std::max(most, peak_megabytes([=] { return regression_net(threads); },
                                         [&](Case& c) { take_steps(c, sampler); }));
  rows.push_back(at_most("regression net, any forward kernel, peak memory over the data", most, "MB", 20));

  const auto of_depth = [&](std::size_t layers) {
    return peak_megabytes(
        [&] {
          return make_case(mlp(100, std::vector<std::size_t>(layers, 100), 1),
                           {{"x", Array::of(float_normals(1, 100'000), {1'000, 100})},
                            {"y", Array::of(float_normals(2, 1'000))}},
                           {{"sigma", 1}}, threads);
        },
        [](Case& c) {
          const std::vector<double> v(c.theta.size(), 1e-3);
          c.posterior.jet(c.theta, v, Order::curvature);
        });
  };
  const double parameters = 90 * 10'100;
  // v as it is given, and both as floats; theta as it is given was there before.
  const double more = parameters * (sizeof(double) + 2 * sizeof(float)) / 1e6;
  rows.push_back(at_most("100 layers of 100, peak memory over that of 10 and the parameters of 90 more",
                         of_depth(100) / (of_depth(10) + more), "", 1.05));
}

}  // namespace

std::vector<Row> net_cases(const Hears& hears) {
  const std::size_t threads = core_count();
  std::vector<Row> rows;
  add_memory_rows(rows, threads, hears);  // first: it forks, which wants a process of one thread
  for (const bool is_cnn : {false, true}) {
    const std::string name = is_cnn ? fmt::format("CNN, {} images", timed_images) : "regression net";
    hears(name + ": jets and steps");
    Case c = is_cnn ? cnn(timed_images, threads) : regression_net(threads);
    const double plain = add_jet_rows(rows, name, c);
    hears(name + ": PyTorch");
    const auto peer =
        run_peer("/usr/bin/python3", "torch_net.py",
                 {is_cnn ? "cnn" : "regression", std::to_string(threads), std::to_string(timed_images)});
    add_step_rows(rows, name, c, plain, peer, is_cnn);
    if (!is_cnn) continue;
    const double work = 1e-9 * c.posterior.network().layout.flops_per_row() * timed_images;
    Row speed{name + ", plain evaluation", work / plain, "GFLOPS"};
    speed.peer = "sgemm of 2048 x 2048";
    speed.peer_value = sgemm_gflops();
    speed.ratio = speed.value / *speed.peer_value;
    speed.bar = "ratio >= 0.75";
    speed.met = *speed.ratio >= 0.75;
    rows.push_back(speed);
  }
  hears("CNN, lines within a layer");
  add_block_rows(rows, threads);
  return rows;
}

}  // namespace onward::bench
