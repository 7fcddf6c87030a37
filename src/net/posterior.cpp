#include "onward/net/posterior.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "engine.hpp"
#include "likelihood.hpp"
#include "onward/error.hpp"

namespace onward::net {
namespace {

void check(const Network& network, const Data& data, const PosteriorOptions& options) {
  const Shape &input = network.layout.input(), &output = network.layout.output();
  if (network.layout.parameter_count() == 0)
    throw UsageError(
        "the network has no parameters, so there is nothing to sample: it needs a linear layer, a "
        "convolution or a batch norm");
  if (data.inputs.shape() != input)
    throw UsageError(fmt::format("the data's inputs are {} and the network takes {}",
                                 to_string(data.inputs.shape()), to_string(input)));
  if (data.count() == 0) throw UsageError("there are no rows of data: a posterior needs at least one");
  if (data.answers.count() != data.count())
    throw UsageError(fmt::format("there are {} inputs and {} answers: they must be as many", data.count(),
                                 data.answers.count()));
  if (output.height * output.width > 1)
    throw UsageError(fmt::format("the network gives images of {}: end it with a flatten or a linear layer",
                                 to_string(output)));
  if (output.channels != data.answers.width())
    throw UsageError(fmt::format("the network gives {} numbers a row, and the data have {} {}",
                                 output.channels, data.answers.width(),
                                 data.answers.are_labels() ? "classes" : "numbers a row"));
  if (!(options.prior_sd > 0) || !std::isfinite(options.prior_sd))
    throw UsageError(fmt::format("the prior's sd is {}: it must be above 0 and finite", options.prior_sd));
  if (options.known_sigma && !(*options.known_sigma > 0 && std::isfinite(*options.known_sigma)))
    throw UsageError(fmt::format("sigma is {}: it must be above 0 and finite", *options.known_sigma));
  if (options.known_sigma && data.answers.are_labels())
    throw UsageError("sigma was given, but the data have labels: a softmax likelihood has no sigma");
}

}  // namespace

class NetworkPosterior::Implementation {
 public:
  Implementation(std::shared_ptr<const Network> given_network, Data given_data,
                 PosteriorOptions given_options, std::shared_ptr<ThreadPool> given_pool)
      : network(std::move(given_network)),
        data(std::move(given_data)),
        options(given_options),
        as_given(given_options),
        pool(given_pool ? std::move(given_pool) : std::make_shared<ThreadPool>(1)) {
    check(*network, data, options);
    engine.emplace(network, data.inputs, options, pool);
    options.piece = engine->piece();
  }

  std::size_t parameters() const { return network->layout.parameter_count(); }
  bool samples_sigma() const { return !data.answers.are_labels() && !options.known_sigma; }
  std::size_t dimension() const { return parameters() + (samples_sigma() ? 1 : 0); }

  Jet jet(VectorView theta, VectorView v, Order order) {
    check_size(theta, "theta");
    if (order != Order::value) check_size(v, "a direction");
    const HeldVector direction(v);
    return jet_from(HeldVector(theta), order == Order::value ? nullptr : &direction, order);
  }

  Jet jet_from(const VectorSource& theta, const VectorSource* v, Order order, const Where& where = {}) {
    const LineNorms norms = engine->place(theta, v, Engine::Next::forward, where);
    if (!norms.fits) return {-std::numeric_limits<double>::infinity(), 0, 0};
    std::vector<Sums> sums = room_for_sums(engine->piece());
    engine->forward(static_cast<std::size_t>(order),
                    [&](std::size_t first, std::size_t rows, const Stack& outputs) {
                      sums[first / engine->piece()] = likelihood_sums(data.answers, first, rows, outputs);
                    });
    return finished(sums, norms, noise(theta, v), order);
  }

  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
    for (const VectorView direction : {v, w}) check_size(direction, "a direction");
    check_size(theta, "theta");
    return jet_pair_from(HeldVector(theta), HeldVector(v), HeldVector(w), order);
  }

  JetPair jet_pair_from(const VectorSource& place, const VectorSource& first_line,
                        const VectorSource& second_line, Order order) {
    if (jet_pair_price(order) >= 2)
      return {jet_from(place, &first_line, order), jet_from(place, &second_line, order)};
    const auto norms = engine->place_two(place, first_line, second_line);
    constexpr Jet nowhere{-std::numeric_limits<double>::infinity(), 0, 0};
    if (!norms[0].fits) return {nowhere, nowhere};
    std::array<std::vector<Sums>, 2> sums{room_for_sums(engine->piece()), room_for_sums(engine->piece())};
    engine->forward_two([&](std::size_t first, std::size_t rows, const Stack& outputs) {
      for (const std::size_t line : {0u, 1u}) {
        const Stack one{outputs.data, (line + 1) * outputs.stride, std::min(outputs.parts, std::size_t{2})};
        sums[line][first / engine->piece()] = likelihood_sums(data.answers, first, rows, one);
      }
    });
    return {finished(sums[0], norms[0], noise(place, &first_line), order),
            finished(sums[1], norms[1], noise(place, &second_line), order)};
  }

  void check_line(VectorView theta, const Direction& v) const {
    check_size(theta, "theta");
    if (!v.source()) check_size(v.held(), "a direction");
  }

  double jet_pair_price(Order order) const { return order == Order::slope ? engine->price_of_two() : 2.0; }

  double gradient(VectorView theta, std::span<double> out, GradientForm form) {
    check_size(theta, "theta");
    check_size(out, "a gradient");
    const LineNorms norms = engine->place(HeldVector(theta), nullptr, Engine::Next::gradient);
    if (!norms.fits) {
      std::fill(out.begin(), out.end(), 0.0);
      return -std::numeric_limits<double>::infinity();
    }
    std::vector<Sums> sums = room_for_sums(engine->gradient_piece());
    const auto by_net = out.first(parameters());
    engine->gradient(
        form,
        [&](std::size_t first, std::size_t rows, const float* outputs, float* by_outputs) {
          sums[first / engine->gradient_piece()].value =
              likelihood_backward(data.answers, first, rows, outputs, by_outputs);
        },
        by_net);
    const Sums sum = tree_sum(std::span<const Sums>(sums));
    const NoiseLine line = noise(HeldVector(theta), nullptr);
    const double precision = data.answers.are_labels() ? 1 : std::exp(-2 * line.log_sigma);
    const double prior_precision = 1 / (options.prior_sd * options.prior_sd);
    for (std::size_t i = 0; i < by_net.size(); ++i)
      by_net[i] = precision * by_net[i] - prior_precision * theta[i];
    if (samples_sigma())
      out.back() = precision * sum.value - entries() + options.sigma_prior.at_log(theta.back()).slope;
    return from_sums(sum, line).value + prior_jet(norms).value;
  }

  void predict(VectorView theta, const Inputs& inputs, std::span<float> out) {
    const std::size_t width = network->layout.output().size();
    if (inputs.shape() != network->layout.input())
      throw UsageError(fmt::format("the inputs are {} and the network takes {}", to_string(inputs.shape()),
                                   to_string(network->layout.input())));
    if (out.size() != inputs.count() * width)
      throw UsageError(fmt::format("there is room for {} outputs and there will be {}", out.size(),
                                   inputs.count() * width));
    check_size(theta, "theta");
    engine->place(HeldVector(theta), nullptr, Engine::Next::predict);
    engine->predict(inputs, [&](std::size_t first, std::size_t rows, const Stack& outputs) {
      std::copy_n(outputs.data, rows * width, out.data() + first * width);
    });
  }

  std::shared_ptr<const Network> network;
  Data data;
  PosteriorOptions options, as_given;
  std::shared_ptr<ThreadPool> pool;
  std::optional<Engine> engine;

 private:
  void check_size(VectorView vector, std::string_view what) const {
    if (vector.size() != dimension())
      throw UsageError(fmt::format("{} has {} entries: the posterior has {} parameters", what, vector.size(),
                                   dimension()));
  }
  std::vector<Sums> room_for_sums(std::size_t piece) const {
    return std::vector<Sums>((data.count() + piece - 1) / piece);
  }
  double entries() const { return static_cast<double>(data.count() * data.answers.width()); }

  /// The noise on a line: log sigma, which is known or the last parameter, and its slope.
  struct NoiseLine {
    double log_sigma = 0, turn = 0;
  };
  NoiseLine noise(const VectorSource& theta, const VectorSource* v) const {
    if (data.answers.are_labels()) return {};
    if (!samples_sigma()) return {std::log(*options.known_sigma), 0};
    const auto last = [&](const VectorSource& source) {
      std::array<double, 8> scratch;
      const std::size_t first = parameters() / 8 * 8;
      return source.read(first, std::span(scratch).first(dimension() - first)).back();
    };
    return {last(theta), v ? last(*v) : 0.0};
  }

  /// The posterior's jet from sums of pieces.
  Jet finished(const std::vector<Sums>& sums, const LineNorms& norms, const NoiseLine& line,
               Order order) const {
    Jet jet = from_sums(tree_sum(std::span<const Sums>(sums)), line);
    const Jet prior = prior_jet(norms);
    jet.value += prior.value;
    jet.slope = order == Order::value ? 0 : jet.slope + prior.slope;
    jet.curvature = order == Order::curvature ? jet.curvature + prior.curvature : 0;
    return jet;
  }

  /// The log likelihood, and the prior of sigma if that is sampled.
  Jet from_sums(const Sums& sums, const NoiseLine& line) const {
    if (data.answers.are_labels()) return {sums.value, sums.slope, sums.curvature};
    const double s = line.log_sigma, turn = line.turn, precision = std::exp(-2 * s);
    const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
    Jet jet{-0.5 * precision * sums.value - entries() * (s + half_log_2pi), precision * sums.slope,
            precision * sums.curvature};
    if (!samples_sigma()) return jet;
    const Jet prior = options.sigma_prior.at_log(s);
    jet.value += prior.value;
    jet.slope += turn * (precision * sums.value - entries() + prior.slope);
    jet.curvature +=
        -4 * turn * precision * sums.slope + turn * turn * (-2 * precision * sums.value + prior.curvature);
    return jet;
  }

  Jet prior_jet(const LineNorms& norms) const {
    const double precision = 1 / (options.prior_sd * options.prior_sd);
    const double constant = std::log(options.prior_sd) + 0.5 * std::log(2 * std::numbers::pi);
    return {-0.5 * precision * norms.theta_theta - static_cast<double>(parameters()) * constant,
            -precision * norms.theta_v, -precision * norms.v_v};
  }
};

NetworkPosterior::NetworkPosterior(std::shared_ptr<const Network> network, Data data,
                                   PosteriorOptions options, std::shared_ptr<ThreadPool> pool)
    : implementation_(
          std::make_unique<Implementation>(std::move(network), std::move(data), options, std::move(pool))) {}
NetworkPosterior::NetworkPosterior(const NetworkPosterior& other)
    : implementation_(
          std::make_unique<Implementation>(other.implementation_->network, other.implementation_->data,
                                           other.implementation_->as_given, other.implementation_->pool)) {}
NetworkPosterior::NetworkPosterior(NetworkPosterior&&) noexcept = default;
NetworkPosterior& NetworkPosterior::operator=(const NetworkPosterior& other) {
  return *this = NetworkPosterior(other);
}
NetworkPosterior& NetworkPosterior::operator=(NetworkPosterior&&) noexcept = default;
NetworkPosterior::~NetworkPosterior() = default;

std::size_t NetworkPosterior::dimension() const { return implementation_->dimension(); }
bool NetworkPosterior::samples_sigma() const { return implementation_->samples_sigma(); }
const Network& NetworkPosterior::network() const { return *implementation_->network; }
const Data& NetworkPosterior::data() const { return implementation_->data; }
const PosteriorOptions& NetworkPosterior::options() const { return implementation_->options; }

std::vector<std::string> NetworkPosterior::names() const {
  std::vector<std::string> names;
  names.reserve(dimension());
  for (const Tensor& tensor : network().layout.parameters())
    for (std::size_t i = 0; i < tensor.size; ++i) {
      std::string index;
      std::size_t rest = i;
      for (std::size_t d = tensor.shape.size(); d-- > 0; rest /= tensor.shape[d])
        index = fmt::format(".{}{}", rest % tensor.shape[d] + 1, index);
      names.push_back(tensor.name + index);
    }
  if (samples_sigma()) names.emplace_back("sigma");
  return names;
}

std::vector<ParameterBlock> NetworkPosterior::blocks() const {
  std::vector<ParameterBlock> blocks = network().layout.blocks();
  if (samples_sigma()) blocks.push_back({"sigma", 1});
  return blocks;
}

void NetworkPosterior::constrain(VectorView theta, std::span<double> out) const {
  std::copy(theta.begin(), theta.end(), out.begin());
  if (samples_sigma()) out.back() = std::exp(theta.back());
}

Jet NetworkPosterior::jet(VectorView theta, VectorView v, Order order) {
  return implementation_->jet(theta, v, order);
}
Jet NetworkPosterior::jet_from(const VectorSource& theta, const VectorSource* v, Order order) {
  return implementation_->jet_from(theta, v, order);
}
JetPair NetworkPosterior::jet_pair(VectorView theta, VectorView v, VectorView w, Order order) {
  return implementation_->jet_pair(theta, v, w, order);
}
NetworkPosterior::Line NetworkPosterior::line(VectorView theta, const Direction& v) {
  implementation_->check_line(theta, v);
  return Line(*implementation_, theta, v);
}
Jet NetworkPosterior::Line::jet(double alpha, Order order) {
  const PlaceOnLine place(theta_, alpha, v_);
  if (order == Order::value) return posterior_->jet_from(place, nullptr, order);
  const DirectionSource v(v_);
  const Jet jet = posterior_->jet_from(place, &v, order, {v_.support(), started_ && alpha != 0});
  if (alpha == 0) {
    posterior_->engine->start_line();
    started_ = true;
  }
  latest_ = alpha;
  return jet;
}
JetPair NetworkPosterior::Line::jet_pair(double alpha, const Direction& next, Order order) {
  started_ = false;
  latest_.reset();
  return posterior_->jet_pair_from(PlaceOnLine(theta_, alpha, v_), DirectionSource(v_), DirectionSource(next),
                                   order);
}
void NetworkPosterior::Line::commit(double alpha) {
  if (alpha == latest_)
    posterior_->engine->start_line();
  else
    started_ = false;
  latest_.reset();
}
double NetworkPosterior::jet_pair_price(Order order) const { return implementation_->jet_pair_price(order); }
double NetworkPosterior::gradient(VectorView theta, std::span<double> out) {
  return gradient(theta, out, options().gradient);
}
double NetworkPosterior::gradient(VectorView theta, std::span<double> out, GradientForm form) {
  return implementation_->gradient(theta, out, form);
}
void NetworkPosterior::predict(VectorView theta, const Inputs& inputs, std::span<float> out) {
  implementation_->predict(theta, inputs, out);
}

void NetworkPosterior::use_pool(std::shared_ptr<ThreadPool> pool) {
  const Implementation& now = *implementation_;
  implementation_ = std::make_unique<Implementation>(now.network, now.data, now.as_given, std::move(pool));
}

const KeptReport& NetworkPosterior::kept() const { return implementation_->engine->kept(); }

std::size_t NetworkPosterior::jet_bytes(Order order) const {
  return implementation_->engine->forward_bytes(static_cast<std::size_t>(order));
}
std::size_t NetworkPosterior::gradient_bytes(GradientForm form) const {
  return implementation_->engine->gradient_bytes(form);
}

}  // namespace onward::net
