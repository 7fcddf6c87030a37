#include "bnn_problem.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "network_model.hpp"
#include "onward/diagnostics/convergence.hpp"
#include "onward/error.hpp"
#include "onward/io/npy.hpp"
#include "onward/net/predictive.hpp"
#include "onward/random/stream.hpp"

namespace onward::experiments {
namespace {

constexpr std::size_t paper_keeps = 100;  // draws that the paper's figures rest on
constexpr std::size_t grid_points = 160;  // of the figure with bands

void standardise(std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, variance = 0;
  for (double x : values) mean += x / n;
  for (double x : values) variance += (x - mean) * (x - mean) / n;
  const double sd = std::sqrt(variance);
  if (!(sd > 0)) throw Error("the points have one x or one y alone: they cannot be standardised");
  for (double& x : values) x = (x - mean) / sd;
}

}  // namespace

Points made_points(std::uint64_t seed, std::size_t count) {
  constexpr std::pair<double, double> clusters[] = {{-7.4, -4.8}, {-1.4, 1.4}, {4.7, 7.3}};
  constexpr double noise = 0.05;
  std::vector<double> u(count), z(count);
  Stream(seed, 0).uniforms(0, Purpose::shuffle, u);
  Stream(seed, 0).normals(0, Purpose::noise, z);
  Points points;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [low, high] = clusters[i % 3];
    const double x = low + (high - low) * u[i];
    points.emplace_back(x, 0.6 * std::tanh(0.4 * x + 0.8) + 0.1 * std::sin(1.5 * x) + noise * z[i]);
  }
  return points;
}

Points read_points(const std::string& file) {
  const NpyArray array = read_npy(file);
  constexpr std::size_t least = 10;
  if (array.shape.size() != 2 || array.columns() != 2 || array.rows() < least)
    throw Error(fmt::format("{} has the shape ({}): it must have two columns, x and y, and {} rows or more",
                            file, fmt::join(array.shape, ", "), least));
  const auto values = array.to_doubles();
  Points points;
  for (std::size_t i = 0; i < array.rows(); ++i) {
    const double x = values[i * array.row_stride()],
                 y = values[i * array.row_stride() + array.column_stride()];
    if (!std::isfinite(x) || !std::isfinite(y))
      throw Error(fmt::format("{}: row {} (counted from 1) is {}, {}: points must be finite numbers", file,
                              i + 1, x, y));
    points.emplace_back(x, y);
  }
  return points;
}

StandardPoints standard_points(const BnnSettings& s) {
  StandardPoints points;
  for (const auto& [x, y] : s.data.empty() ? made_points(s.seed) : read_points(s.data)) {
    points.x.push_back(x);
    points.y.push_back(y);
  }
  standardise(points.x);
  standardise(points.y);
  return points;
}

BnnProblem load_bnn(const BnnSettings& s) {
  const StandardPoints points = standard_points(s);
  const std::vector<float> x(points.x.begin(), points.x.end()), y(points.y.begin(), points.y.end());
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const double margin = 0.25 * static_cast<double>(*high - *low), first = static_cast<double>(*low) - margin,
               last = static_cast<double>(*high) + margin;
  std::vector<double> grid;
  std::vector<float> looked_at = x;
  for (std::size_t i = 0; i < grid_points; ++i) {
    grid.push_back(first + (last - first) * static_cast<double>(i) / (grid_points - 1));
    looked_at.push_back(static_cast<float>(grid.back()));
  }
  const std::size_t rows = looked_at.size();
  Model model = network_model(
      net::mlp(1, s.hidden, 1),
      {{"likelihood", "gaussian"}, {"prior_sd", s.prior_sd}, {"sigma", s.sigma}, {"show_rows", rows}},
      {{"x", Array::of(x)}, {"y", Array::of(y)}, {"test_x", Array::of(std::move(looked_at))}}, "lecun");
  return {std::move(model), net::Answers::values(1, y), std::move(grid)};
}

BnnScores judge_bnn(const BnnSettings& s, const BnnProblem& problem, const ChainDraws& chain,
                    std::size_t begin, std::size_t end) {
  const std::size_t points = problem.answers.count();
  net::Predictive predictive(false, points, 1, problem.answers);
  for (std::size_t i = begin; i < end; ++i) predictive.add(chain.draw(i).first(points), s.sigma);
  const net::Scores scores = predictive.scores();
  return {scores.nll, *scores.mse};
}

void judge_bnn(const BnnSettings& s, const BnnProblem& problem, const std::vector<ChainDraws>& chains,
               BnnRow& row) {
  const std::size_t count = chains[0].count();
  const std::size_t burned = std::min(count - 1, s.burn / s.thin);
  row.kept = count - burned;
  const std::size_t last = std::min(paper_keeps, row.kept);
  const auto share = 1 / static_cast<double>(chains.size());
  for (const auto& chain : chains) {
    const BnnScores recent = judge_bnn(s, problem, chain, count - last, count);
    const BnnScores kept = judge_bnn(s, problem, chain, burned, count);
    const std::size_t middle = burned + std::max<std::size_t>(1, row.kept / 2);
    row.last_of_chains.push_back(recent);
    row.all_of_chains.push_back(kept);
    row.nll_middle +=
        share * judge_bnn(s, problem, chain, middle - std::min(last, middle - burned), middle).nll;
    row.last.nll += share * recent.nll;
    row.last.mse += share * recent.mse;
    row.all.nll += share * kept.nll;
    row.all.mse += share * kept.mse;
    row.weight_rms += share * chain.position_rms;
    for (std::size_t i = count - last; i < count; ++i)
      row.log_density += share * chain.log_density[i] / static_cast<double>(last);
  }

  const ChainDraws& first = chains[0];
  std::size_t before = 0;
  for (std::size_t i = 1; i <= s.curve_points; ++i) {
    const std::size_t end = i * count / s.curve_points;
    if (end == before) continue;
    before = end;
    row.curve.push_back({static_cast<double>(end * s.thin), first.seconds[end - 1],
                         judge_bnn(s, problem, first, end - 1, end).nll,
                         judge_bnn(s, problem, first, end - std::min(end, paper_keeps), end).nll,
                         first.log_density[end - 1]});
  }

  const std::size_t points = problem.answers.count();
  row.band.x = problem.grid;
  for (std::size_t g = 0; g < problem.grid.size(); ++g) {
    std::vector<double> values;
    for (const auto& chain : chains)
      for (std::size_t i = count - last; i < count; ++i)
        values.push_back(static_cast<double>(chain.draw(i)[points + g]));
    double mean = 0;
    for (double value : values) mean += value / static_cast<double>(values.size());
    std::sort(values.begin(), values.end());
    row.band.mean.push_back(mean);
    row.band.low.push_back(quantile(values, 0.05));
    row.band.high.push_back(quantile(values, 0.95));
  }
}

}  // namespace onward::experiments
