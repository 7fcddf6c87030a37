// What is reported besides the parameters: names, values, random numbers, log likelihoods, and what is
// hidden.

#include "onward/target/reported.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "onward/onward.hpp"

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Eight schools in little, not centred.
auto schools() {
  return target(Parameters{}.real("mu").positive("tau").vector("z", 2), [](auto mu, auto tau, auto z) {
    return std_normal_lpdf(mu) + exponential_lpdf(tau, 1.0) + std_normal_lpdf(z[0]) + std_normal_lpdf(z[1]);
  });
}

auto with_theta() {
  return schools().generate(Quantities{}.vector("theta", 2).real("shift").matrix("m", 2, 3),
                            [](auto& random, auto mu, auto tau, auto z, auto theta, auto shift, auto m) {
                              for (std::size_t j = 0; j < 2; ++j) theta[j] = mu + tau * z[j];
                              shift = random.normal(mu, 1.0);
                              for (std::size_t i = 0; i < m.rows(); ++i)
                                for (std::size_t j = 0; j < m.columns(); ++j)
                                  m(i, j) = mu + static_cast<double>(10 * i + j);
                            });
}

const std::vector<double> place{0.5, 0.25, 1.0, -1.0};

TEST(Reported, QuantitiesComeAfterTheParameters) {
  const AnyTarget t = with_theta();
  EXPECT_THAT(t.names(), ElementsAre("mu", "tau", "z.1", "z.2", "theta.1", "theta.2", "shift", "m.1.1",
                                     "m.2.1", "m.1.2", "m.2.2", "m.1.3", "m.2.3"));
  std::vector<double> out(13);
  t.report(place, Stream(1, 0), 7, out);
  const double tau = std::exp(0.25);
  EXPECT_EQ(out[0], 0.5);
  EXPECT_DOUBLE_EQ(out[4], 0.5 + tau);
  EXPECT_DOUBLE_EQ(out[5], 0.5 - tau);
  EXPECT_EQ(out[6], 0.5 + Random(Stream(1, 0), 7).normal());
  EXPECT_EQ(out[8], 10.5) << "m.2.1";
  EXPECT_EQ(out[11], 2.5) << "m.1.3";
  const auto shapes = parameter_shapes(t.names()).variables;
  EXPECT_THAT(shapes.back().shape, ElementsAre(2u, 3u));
}

TEST(Reported, TheDensityIsTheSame) {
  AnyTarget bare = schools(), more = with_theta().hide({"z"});
  EXPECT_EQ(bare.value(place), more.value(place));
  EXPECT_EQ(more.dimension(), 4u);
  const auto blocks = more.blocks();
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[2].name, "z");
  EXPECT_EQ(blocks[2].size, 2u);
}

TEST(Reported, WhatIsHiddenIsNotReported) {
  const AnyTarget t = with_theta().hide({"z", "m", "tau"});
  EXPECT_THAT(t.names(), ElementsAre("mu", "theta.1", "theta.2", "shift"));
  std::vector<double> out(4);
  t.constrain(place, out);
  EXPECT_EQ(out[0], 0.5);
  EXPECT_DOUBLE_EQ(out[1], 0.5 + std::exp(0.25));
}

TEST(Reported, OutsideAChainRandomNumbersBelongToThePlace) {
  const AnyTarget t = with_theta();
  std::vector<double> a(13), b(13), c(13), other = place;
  other[2] = 1.25;
  t.constrain(place, a);
  t.constrain(place, b);
  t.constrain(other, c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a[6], c[6]);
}

TEST(Reported, ARunHasThemWithTheSameBitsForAnyThreads) {
  const AnyTarget t = with_theta().hide({"z"});
  const RunSettings settings{
      .sampler = "nuts", .warmup = 200, .draws = 500, .chains = 4, .threads = 1, .seed = 5};
  RunSettings threads = settings;
  threads.threads = 4;
  const onward::Run one = sample(t, settings), four = sample(t, threads);
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(one.chains[c].values, four.chains[c].values);
  EXPECT_EQ(one.names[2], "theta.1");
  EXPECT_NE(one.summary_table().find("shift"), std::string::npos);
  // shift - mu is standard normal, and owes nothing to the chain: no draw is like the one before.
  double sum = 0, squares = 0, products = 0, last = 0, n = 0;
  for (std::size_t c = 0; c < 4; ++c)
    for (std::size_t d = 0; d < 500; ++d, ++n) {
      const double e = one.parameter(4)[c][d] - one.parameter(0)[c][d];
      sum += e, squares += e * e, products += e * last, last = e;
    }
  EXPECT_LT(std::abs(sum) / std::sqrt(n), 5);
  EXPECT_LT(std::abs(squares - n) / std::sqrt(2 * n), 5);
  EXPECT_LT(std::abs(products) / std::sqrt(n), 5);
}

TEST(Reported, TheLogLikelihoodIsKnownByObservation) {
  const std::vector<double> y{0.3, -0.7, 1.9};
  const auto t = schools().log_likelihood(
      "y", y.size(), [y](std::size_t i, auto mu, auto tau, auto) { return normal_lpdf(y[i], mu, tau); });
  const Model model(t);
  ASSERT_TRUE(model.log_likelihood);
  const LogLikelihood likelihood = model.log_likelihood();
  EXPECT_EQ(likelihood.shape.name, "y");
  const std::vector<double> draw{0.5, 2.0, 0.0, 0.0};
  std::vector<double> all(3), one(1);
  likelihood.at(draw, all);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(all[i], normal_lpdf(y[i], 0.5, 2.0));
  likelihood.part(draw, 2, one);
  EXPECT_EQ(one[0], all[2]);
  EXPECT_FALSE(Model(schools()).log_likelihood);
  EXPECT_FALSE(Model(with_theta()).log_likelihood);
}

TEST(Reported, RefusesWhatMakesNoSense) {
  const auto says = [](const std::string& text) { return ThrowsMessage<UsageError>(HasSubstr(text)); };
  const auto nothing = [](auto&&...) {};
  EXPECT_THAT([&] { (void)schools().generate(Quantities{}.real("mu"), nothing); },
              says("quantity 'mu' has the name of a parameter"));
  EXPECT_THAT([&] { (void)with_theta().generate(Quantities{}.real("more"), nothing); },
              says("declare all of them in one list"));
  EXPECT_THAT([&] { (void)schools().hide({"zeta"}); }, says("what is reported is mu, tau, z"));
  EXPECT_THAT([&] { (void)schools().hide({"mu", "tau", "z"}); }, says("nothing would be left"));
  EXPECT_THAT([&] { Quantities{}.matrix("m", 2, 0); }, says("'m' has size 0"));
  EXPECT_THAT([&] { Quantities{}.real("m").vector("m", 2); }, says("declared twice"));
  const auto known =
      schools().log_likelihood("y", 3, [](std::size_t, auto mu, auto, auto) { return mu; }).hide({"z"});
  EXPECT_THAT([&] { (void)Model(known); }, says("'z' is hidden: do not hide it"));
  EXPECT_THAT(
      [&] { (void)schools().log_likelihood("y", 0, [](std::size_t, auto mu, auto, auto) { return mu; }); },
      says("0 observations"));
}

TEST(Reported, WhatIsNotFilledInIsNan) {
  const AnyTarget t = schools().generate(Quantities{}.real("a").real("b"),
                                         [](auto&, auto mu, auto, auto, auto a, auto) { a = mu; });
  std::vector<double> out(6);
  t.constrain(place, out);
  EXPECT_EQ(out[4], 0.5);
  EXPECT_TRUE(std::isnan(out[5]));
}

TEST(Reject, EndsTheEvaluationAndIsCountedWithItsWords) {
  AnyTarget t = target(Parameters{}.real("x"), [](auto x) {
    if (x > 1) reject("x is above 1");
    return -0.5 * x * x;
  });
  EXPECT_TRUE(std::isfinite(t.value(std::vector<double>{0.5})));
  EXPECT_EQ(t.value(std::vector<double>{1.5}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(t.counts().threw, 1u);
  EXPECT_EQ(t.counts().first_message, "x is above 1");
  std::vector<double> gradient(1);
  EXPECT_EQ(t.gradient(std::vector<double>{1.5}, gradient), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(t.counts().threw, 2u);

  const onward::Run run = sample(t, {.sampler = "rwm", .draws = 400, .chains = 2, .seed = 3});
  const Chains drawn = run.parameter(0);
  for (const auto& chain : drawn)
    for (const double x : chain) EXPECT_LE(x, 1);
  EXPECT_THAT(run.report(), HasSubstr("x is above 1"));
  EXPECT_GT(run.counts().threw, 0u);
}

}  // namespace
}  // namespace onward
