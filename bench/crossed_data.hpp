#pragma once
// What benchmarks of regressions with groups are made of.

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "onward/glm/mixed_posterior.hpp"
#include "onward/random/stream.hpp"
#include "onward/util/release.hpp"

namespace onward::bench {

/// A logistic regression with two predictors and two crossed groups.
struct CrossedData {
  std::size_t rows, levels_a, levels_b;
  std::vector<float> x;
  std::vector<double> y;
  glm::GroupTerm a, b;

  /// `slopes`: how far the slopes of the two predictors differ between the levels of a and of b; each goes
  /// together with the intercept, by a correlation of one half.
  CrossedData(std::size_t n, std::size_t in_a, std::size_t in_b, double slopes = 0)
      : rows(n), levels_a(in_a), levels_b(in_b), x(2 * n), y(n), a(term("a", in_a)), b(term("b", in_b)) {
    const Stream stream(13, 0);
    std::vector<double> effects_a(in_a), effects_b(in_b), slopes_a(in_a), slopes_b(in_b), normals(2),
        uniforms(3);
    stream.normals(0, Purpose::noise, effects_a);
    stream.normals(1, Purpose::noise, effects_b);
    stream.normals(0, Purpose::start, slopes_a);
    stream.normals(1, Purpose::start, slopes_b);
    const auto slope = [&](double intercept, double own) {
      return slopes * (0.5 * intercept + std::sqrt(0.75) * own);
    };
    std::vector<std::uint32_t> levels_of_a(n), levels_of_b(n);
    for (std::size_t i = 0; i < n; ++i) {
      stream.normals(2 + i, Purpose::noise, normals);
      stream.uniforms(2 + i, Purpose::accept, uniforms);
      // The first rows see to it that no level is empty.
      const auto level = [&](std::size_t levels, double u) {
        return i < levels ? i : static_cast<std::size_t>(u * static_cast<double>(levels));
      };
      levels_of_a[i] = static_cast<std::uint32_t>(level(in_a, uniforms[0]));
      levels_of_b[i] = static_cast<std::uint32_t>(level(in_b, uniforms[1]));
      double eta = -0.5 + 0.4 * normals[0] - 0.3 * normals[1];
      const std::size_t in_level_a = levels_of_a[i], in_level_b = levels_of_b[i];
      eta += 0.8 * effects_a[in_level_a] + 0.5 * effects_b[in_level_b];
      eta += slope(effects_a[in_level_a], slopes_a[in_level_a]) * normals[0] +
             slope(effects_b[in_level_b], slopes_b[in_level_b]) * normals[1];
      x[2 * i] = static_cast<float>(normals[0]);
      x[2 * i + 1] = static_cast<float>(normals[1]);
      y[i] = uniforms[2] < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    }
    a.level_of_row = levels_of_a;
    b.level_of_row = levels_of_b;
  }

  /// As a table with the columns y, x1, x2, a and b.
  void write_csv(const std::filesystem::path& file) const {
    std::ofstream out(file);
    out << "y,x1,x2,a,b\n";
    for (std::size_t i = 0; i < rows; ++i)
      out << fmt::format("{},{:.6g},{:.6g},a{},b{}\n", y[i], x[2 * i], x[2 * i + 1], a.level_of_row[i],
                         b.level_of_row[i]);
  }

  /// With the priors of rstan_groups.R; so many effects of each group are reported.
  glm::MixedPosterior posterior(std::size_t shown) && {
    using namespace glm;
    PosteriorOptions priors{
        .coefficients = Prior::normal(0, 2.5), .intercept = Prior::normal(0, 10), .centre = false};
    auto design = std::make_shared<Design>(Design::dense(std::span<const float>(x), rows, 2, true));
    release(x);
    auto outcomes = std::make_shared<Observations>(Family::bernoulli, y);
    release(y);
    std::vector<GroupTerm> terms;
    terms.push_back(std::move(a));
    terms.push_back(std::move(b));
    MixedPosterior mixed(RegressionPosterior(std::move(design), std::move(outcomes), priors),
                         std::move(terms));
    std::vector<std::size_t> places;
    for (std::size_t t = 0; t < 2; ++t)
      for (std::size_t i = 0; i < shown; ++i)
        places.push_back(mixed.layout().effects[t] + i * mixed.terms()[t].count() / shown);
    mixed.report_effects(std::move(places));
    return mixed;
  }

 private:
  static glm::GroupTerm term(std::string factor, std::size_t levels) {
    glm::GroupTerm one;
    one.factor = std::move(factor);
    for (std::size_t l = 0; l < levels; ++l) one.levels.push_back(std::to_string(l));
    one.columns = {"Intercept"};
    one.values.resize(1);
    return one;
  }
};

}  // namespace onward::bench
