// Regressions that cannot be, or that the data leave open: what `onward sample glm` says of them.

#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "glm_program.hpp"

namespace onward::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GlmRefusals : public Glm {};

TEST_F(GlmRefusals, BadDataAreNamedByRow) {
  std::vector<double> bad = x;
  bad[2 * 6 + 1] = NAN;
  save("bad_x.npy", bad, {rows, 2});
  cannot("sample glm --x bad_x.npy --y yes.npy --family bernoulli", {"row 7", "column 2", "nan"});
  put("names", "age\nincome\n");
  cannot("sample glm --x bad_x.npy --y yes.npy --family bernoulli --names names",
         {"row 7", "column 'income'", "nan"});
  std::vector<double> y(rows, 1.0);
  y[4] = NAN;
  save("bad_y.npy", y);
  cannot("sample glm --x x.npy --y bad_y.npy --family bernoulli", {"row 5", "nan"});
  y[4] = 2;
  save("bad_y.npy", y);
  cannot("sample glm --x x.npy --y bad_y.npy --family bernoulli", {"row 5", "is 2", "0 or 1"});
  cannot("sample glm --x x.npy --y bad_y.npy --family binomial --trials ones.npy",
         {"row 5", "is 2", "trials"});
  y[4] = -1;
  save("bad_y.npy", y);
  cannot("sample glm --x x.npy --y bad_y.npy --family poisson", {"row 5", "is -1"});
  y.pop_back();
  save("short.npy", y);
  cannot("sample glm --x x.npy --y short.npy --family gaussian", {"200", "199"});
  cannot("sample glm --x x.npy --y yes.npy --family bernoulli --offset short.npy", {"offset", "200", "199"});
  cannot("sample glm --x x.npy --y x.npy --family gaussian", {"200 x 2", "one a row"});
  cannot("sample glm --x none.npy --y yes.npy --family bernoulli", {"none.npy"});
}

TEST_F(GlmRefusals, WhatTheDataLeaveOpenIsSaid) {
  std::vector<double> collinear, constant, apart(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    collinear.insert(collinear.end(), {x[2 * i], x[2 * i + 1], x[2 * i] - x[2 * i + 1]});
    constant.insert(constant.end(), {x[2 * i], 3.0});
    apart[i] = x[2 * i] > 0 ? 1 : 0;
  }
  save("collinear.npy", collinear, {rows, 3});
  save("constant.npy", constant, {rows, 2});
  save("apart.npy", apart);
  put("names", "age\nalways 3\n");
  const std::string line = "sample glm --family bernoulli --draws 10 --seed 1 --out none ";
  for (const std::string sampler : {"auto", "newton-line"}) {
    const std::string with = line + "--sampler " + sampler;
    EXPECT_THAT(onward(with + " --x collinear.npy --y yes.npy").err, HasSubstr("collinear"));
    EXPECT_THAT(onward(with + " --x constant.npy --y yes.npy").err, HasSubstr("column 2 is constant"));
    EXPECT_THAT(onward(with + " --x constant.npy --y yes.npy --names names").err,
                HasSubstr("column 'always 3' is constant"));
    EXPECT_THAT(onward(with + " --x x.npy --y apart.npy --prior normal:1000").err, HasSubstr("separable"));
    EXPECT_THAT(onward(with + " --x x.npy --y yes.npy").err, Not(HasSubstr("note:")));
  }
  const Outcome flat = onward(line + "--x x.npy --y apart.npy --prior flat --prior-intercept flat");
  EXPECT_EQ(flat.code, 1);
  EXPECT_THAT(flat.err, AllOf(HasSubstr("separable"), HasSubstr("normal prior")));
}

TEST_F(GlmRefusals, AFlatPriorNeedsDataThatHoldEveryCoefficient) {
  std::vector<double> dummy, yes(rows), zeros(rows, 0.0), exact(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    dummy.insert(dummy.end(), {x[2 * i], i % 8 == 0 ? 1.0 : 0.0});
    yes[i] = i % 8 == 0 || i % 3 == 0 ? 1 : 0;
    exact[i] = 1 + x[2 * i];
  }
  save("dummy.npy", dummy, {rows, 2});
  save("some.npy", yes);
  save("zeros.npy", zeros);
  save("exact.npy", exact);
  const std::string line = "sample glm --draws 10 --seed 1 --out none ";
  for (const std::string sampler : {"auto", "newton-line"}) {
    const std::string with = line + "--sampler " + sampler;
    const std::string some = with + " --x dummy.npy --y some.npy --family bernoulli";
    EXPECT_THAT(onward(some + " --prior normal:1000").err, HasSubstr("column 2 tells some of the outcomes"));
    cannot(some + " --prior flat", {"no maximum", "normal prior"});
    cannot(with + " --x x.npy --y classes.npy --family categorical --prior flat", {"categorical", "flat"});
    cannot(with + " --x x.npy --y zeros.npy --family poisson --prior flat --prior-intercept flat",
           {"no maximum"});
    cannot(with + " --x x.npy --y exact.npy --family gaussian --prior flat", {"fitted exactly", "--sigma"});
    EXPECT_THAT(onward(with + " --x x.npy --y exact.npy --family gaussian").err, HasSubstr("fitted exactly"));
    for (const std::string fine : {"yes.npy --family bernoulli", "counts.npy --family poisson",
                                   "measured.npy --family gaussian", "yes.npy --family cloglog"}) {
      const Outcome outcome = onward(with + " --x x.npy --prior flat --prior-intercept flat --y " + fine);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      EXPECT_THAT(outcome.err, Not(HasSubstr("note:")));
    }
  }
  for (double& y : zeros) y = 2;
  zeros[0] = 1;
  save("late.npy", zeros);
  EXPECT_THAT(onward(line + "--x x.npy --y late.npy --family categorical").err,
              HasSubstr("no row has class 0"));
}

TEST_F(GlmRefusals, NumbersThatFloatsDoNotKeepAreRefused) {
  std::vector<double> far = x, huge = x, heavy(rows, 1e300);
  for (std::size_t i = 0; i < rows; ++i) far[2 * i + 1] += 1e7;
  huge[3] = -2e39;
  save("far.npy", far, {rows, 2});
  save("huge.npy", huge, {rows, 2});
  save("heavy.npy", heavy);
  save("weightless.npy", std::vector<double>(rows, 0.0));
  save("cube.npy", x, {rows, 2, 1});
  const std::string rest = " --y yes.npy --family bernoulli";
  cannot("sample glm --x far.npy" + rest, {"column 2", "mean 1e+07", "Subtract"});
  cannot("sample glm --x huge.npy" + rest, {"row 2, column 2", "-2e+39", "floats"});
  cannot("sample glm --x cube.npy" + rest, {"--x cube.npy", "(200, 2, 1)"});
  cannot("sample glm --x x.npy --weights heavy.npy" + rest, {"weights in row 1", "1e+300"});
  cannot("sample glm --x x.npy --weights weightless.npy" + rest, {"every weight is 0"});
}

TEST_F(GlmRefusals, NamesMustDiffer) {
  put("twice", "a\na\n");
  put("sigma", "a\nsigma\n");
  put("intercept", "intercept\nb\n");
  const std::string line = "sample glm --x x.npy --out none --draws 10 --quiet --seed 1 ";
  wrong_usage(line + "--y yes.npy --family bernoulli --names twice", {"called a:"});
  wrong_usage(line + "--y yes.npy --family bernoulli --names intercept", {"called intercept"});
  wrong_usage(line + "--y measured.npy --family gaussian --names sigma", {"called sigma"});
  EXPECT_EQ(onward(line + "--y yes.npy --family bernoulli --names sigma").code, 0);
}

TEST_F(GlmRefusals, WrongRequests) {
  const std::string line = "sample glm --x x.npy --y yes.npy --family bernoulli ";
  wrong_usage("sample glm --y yes.npy --family bernoulli", {"--x is missing"});
  wrong_usage("sample glm --x x.npy --y yes.npy", {"--family is missing", "poisson"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family bernouli", {"bernoulli"});
  wrong_usage(line + "--link log", {"--link log", "probit"});
  wrong_usage(line + "--prior normal", {"the prior 'normal' cannot be read", "SCALE"});
  wrong_usage(line + "--prior normal:-1", {"the prior 'normal:-1'", "above 0"});
  refuses(2,
          {"sample", "glm", "--x", "x.npy", "--y", "yes.npy", "--family", "bernoulli", "--prior",
           "sd(g) ~ normal(0, 1)"},
          {"sd(g)", "no groups"});
  wrong_usage(line + "--prior-intercept student-t:0:1", {"--prior-intercept student-t:0:1", "degrees"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family gaussian --sigma 0", {"--sigma is 0"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family negative-binomial --phi -2", {"--phi is -2"});
  wrong_usage(line + "--sigma 1", {"--sigma", "gaussian"});
  wrong_usage(line + "--trials ones.npy", {"binomial"});
  wrong_usage(line + "--init zeros", {"--init", "--sampler"});
  wrong_usage(line + "--dim 3", {"--dim belongs to the models funnel", "not to glm"});
  wrong_usage(line + "--relaxation 2", {"2", "between 0 and 2"});
  wrong_usage("sample funnel --x x.npy", {"--x belongs to the models glm, net, not to funnel"});
  wrong_usage("sample glm --x x.npy --y yes.npy --family binomial", {"--trials is missing"});
}

}  // namespace
}  // namespace onward::testing
