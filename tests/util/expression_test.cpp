// Expressions over parameters: what they are worth, which names they find, and what is said of wrong ones.

#include "onward/util/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> names{
    "a",      "b",    "(Intercept)", "factor(k)2", "x1:x2", "log(x4)", "x5",  "I(x5^2)",     "sd(g)Intercept",
    "beta.1", "höhe", "level-1",     "2nd",        "exp",   "log(x5)", "a b", "poly(x, 2)1", "b:c[d e]"};
/// Of the i-th name the value i + 2.
double worth(const std::string& text) {
  const Expression expression = Expression::parse(text, names);
  std::vector<double> values;
  for (const std::size_t name : expression.used()) values.push_back(static_cast<double>(name) + 2);
  return expression(values);
}

std::string said_of(const std::string& text) {
  try {
    static_cast<void>(Comparison::parse(text, names));
  } catch (const ExpressionError& problem) {
    return problem.what();
  }
  ADD_FAILURE() << text << " was taken";
  return "";
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(worth("1 + 2 * 3"), 7);
  EXPECT_EQ(worth("(1 + 2) * 3"), 9);
  EXPECT_EQ(worth("8 - 4 - 2"), 2);
  EXPECT_EQ(worth("8 / 4 / 2"), 1);
  EXPECT_EQ(worth("2 ^ 3 ^ 2"), 512);
  EXPECT_EQ(worth("-2 ^ 2"), -4);
  EXPECT_EQ(worth("2 ^ -1"), 0.5);
  EXPECT_EQ(worth("--3 + +1"), 4);
  EXPECT_EQ(worth("2*-3"), -6);
  EXPECT_EQ(worth("1.5e2 + .5 + 1e-1"), 150.6);
  EXPECT_EQ(worth("exp(0) + sqrt( 16 ) + abs(-3) + log(1)"), 8);
  EXPECT_EQ(worth("a*b"), 6);
  EXPECT_EQ(worth("b - a + a"), 3);
  EXPECT_EQ(worth("\ta\n"), 2);
}

TEST(Expression, NamesPlainAndQuoted) {
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(worth("2 * `" + names[i] + "` - 1"), 2 * static_cast<double>(i) + 3) << names[i];
  for (const std::size_t i : {0U, 2U, 3U, 4U, 5U, 8U, 9U, 10U, 11U, 13U, 16U, 17U})
    EXPECT_EQ(worth("1+" + names[i] + "*2"), 2 * static_cast<double>(i) + 5) << names[i];
  EXPECT_EQ(worth("I(x5^2)"), 9);
  EXPECT_EQ(worth("log(`x5`)"), std::log(8.0));
  EXPECT_EQ(worth("exp(a)"), std::exp(2.0));
  EXPECT_EQ(worth("exp (a) / exp"), std::exp(2.0) / 15);
  EXPECT_EQ(worth("(a)"), 2);
}

TEST(Expression, WhatCanBeReadInTwoWaysIsRefused) {
  // A logarithm of x5, or the column of that name.
  EXPECT_THAT(said_of("a > log(x5)"),
              AllOf(HasSubstr("log(x5) is a parameter, and arithmetic"), HasSubstr("\n      ^")));
  EXPECT_EQ(worth("`log(x5)`"), 16);
  const std::vector<std::string> both{"Intercept", "(Intercept)"};
  EXPECT_THROW(Expression::parse("(Intercept)", both), ExpressionError);
  EXPECT_EQ(Expression::parse("`(Intercept)`", both).used()[0], 1u);
}

TEST(Expression, UsesEachNameOnce) {
  const Expression expression = Expression::parse("beta.1 * a + a / beta.1", names);
  ASSERT_EQ(expression.used().size(), 2u);
  EXPECT_EQ(expression.used()[0], 0u);
  EXPECT_EQ(expression.used()[1], 9u);
  const std::vector<double> values{6, 3};
  EXPECT_EQ(expression(values), 20);
}

TEST(Comparison, IsLeftMinusRight) {
  using enum Comparison::Kind;
  for (const auto& [text, kind] : {std::pair{"a > 2 * b", greater},
                                   {"a>=2*b", greater},
                                   {"a < 2*b", less},
                                   {"a <= 2*b", less},
                                   {"a = 2*b", equal},
                                   {"a == 2 * b", equal}}) {
    const Comparison comparison = Comparison::parse(text, names);
    EXPECT_EQ(comparison.kind, kind) << text;
    const std::vector<double> values{5, 2};
    EXPECT_EQ(comparison.difference(values), 1) << text;
  }
}

TEST(Comparison, WrongTextsAreExplainedWithACaret) {
  EXPECT_THAT(said_of("a"), AllOf(HasSubstr("a sign >"), HasSubstr("\n  a\n   ^")));
  EXPECT_THAT(said_of("a > "), AllOf(HasSubstr("missing here"), HasSubstr("  a > \n      ^")));
  EXPECT_THAT(said_of("beta.2 > 0"), AllOf(HasSubstr("no parameter 'beta.2'. Did you mean beta.1?"),
                                           HasSubstr("\n  beta.2 > 0\n  ^")));
  EXPECT_THAT(said_of("1 < factor(k)3"),
              AllOf(HasSubstr("'factor(k)3'. Did you mean factor(k)2?"), HasSubstr("\n      ^")));
  EXPECT_THAT(said_of("x1:x3 > 0"), HasSubstr("'x1:x3'. Did you mean x1:x2?"));
  EXPECT_THAT(said_of("`nobody knows` > 0"), HasSubstr("no parameter 'nobody knows'"));
  EXPECT_THAT(said_of("`a > 0"), HasSubstr("backquote is not closed"));
  EXPECT_THAT(said_of("(a > 0"), HasSubstr("one comparison, outside of parentheses"));
  EXPECT_THAT(said_of("(a + 1 "), AllOf(HasSubstr("not closed"), HasSubstr("\n  ^")));
  EXPECT_THAT(said_of("a + 1) > 0"), AllOf(HasSubstr("not opened"), HasSubstr("\n       ^")));
  EXPECT_THAT(said_of("0 < a < 1"), AllOf(HasSubstr("one comparison"), HasSubstr("\n        ^")));
  EXPECT_THAT(said_of("a != 0"), HasSubstr("!="));
  EXPECT_THAT(said_of("2 a > 0"), HasSubstr("a sign such as + or * is missing"));
  EXPECT_THAT(said_of("2nd > 0"), HasSubstr("backquotes"));
  EXPECT_THAT(said_of("a & b > 0"), HasSubstr("'&' is not known here"));
  EXPECT_THAT(said_of("* a > 0"), HasSubstr("'*' where a number or a parameter is due"));
  EXPECT_THAT(said_of("1 > 0"), HasSubstr("names no parameter"));
  EXPECT_THAT(said_of(""), HasSubstr("missing here"));
  // The caret counts letters, not bytes, and a control character is not shown as it is.
  EXPECT_THAT(said_of("höhe > bb"), HasSubstr("\n         ^"));
  EXPECT_THAT(said_of("a > \x1b"), HasSubstr("\\x1b"));
  // A long text is cut about the place.
  const std::string lengthy =
      said_of("a > " + std::string(5000, '1') + " + nobody + " + std::string(5000, '1'));
  EXPECT_LT(lengthy.size(), 400u);
  EXPECT_THAT(lengthy, HasSubstr("..."));
}

TEST(Comparison, NestingIsBounded) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')') + " > 0";
  };
  EXPECT_NO_THROW(static_cast<void>(Comparison::parse(nested(150), names)));
  EXPECT_THAT(said_of(nested(100'000)), HasSubstr("nested more than 200 deep"));
  EXPECT_THAT(said_of(std::string(100'000, '-') + "a > 0"), HasSubstr("nested more than 200 deep"));
  std::string powers = "a";
  for (int i = 0; i < 10'000; ++i) powers += "^a";
  EXPECT_THAT(said_of(powers + " > 0"), HasSubstr("nested"));
  std::string terms = "a";
  for (int i = 0; i < 10'000; ++i) terms += " + a";
  EXPECT_NO_THROW(static_cast<void>(Comparison::parse(terms + " > 0", names)));
}

}  // namespace
}  // namespace onward
