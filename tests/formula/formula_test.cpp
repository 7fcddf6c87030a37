// Formulas as text: what they name, and what is said of those that are malformed.

#include "onward/formula/formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/scratch.hpp"

namespace onward::formula {
namespace {

using onward::testing::error_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string error(const std::string& text) {
  return error_of([&] { Formula{text}; });
}

TEST(Formula, KnowsItsVariables) {
  const Formula formula(
      "log(y) | trials(n) ~ x + `my var` * factor(k) + offset(log(t)) + (1 + z | g/h) + I(x > pi)");
  EXPECT_THAT(formula.variables(), ElementsAre("y", "n", "x", "my var", "k", "t", "z", "g", "h"));
  EXPECT_THAT(formula.variables(false), ElementsAre("x", "my var", "k", "t", "z", "g", "h"));
  EXPECT_TRUE(formula.has_groups());
  EXPECT_FALSE(formula.has_dot());
  EXPECT_TRUE(Formula("y ~ . - x").has_dot());
  EXPECT_THAT(Formula("y ~ 1").variables(), ElementsAre("y"));
  EXPECT_THAT(Formula("y ~ poly(T, 2, raw = T) + I(F == TRUE)").variables(), ElementsAre("y", "T", "F"));
}

TEST(Formula, SpacesLineEndsAndCommentsDoNotMatter) {
  EXPECT_THAT(Formula("y~\n\tx  # the dose\n + z\r\n").variables(), ElementsAre("y", "x", "z"));
}

TEST(Formula, AResponseMayBeLeftOutOnlyIfThatIsAllowed) {
  EXPECT_FALSE(Formula("~ x", {.response_required = false}).has_response());
  EXPECT_THAT(error("~ x"), HasSubstr("a response should stand before `~`"));
}

TEST(Formula, ACaretShowsThePlace) {
  EXPECT_EQ(error("y ~ x + * z"),
            "formula: this should be a variable, a number or `(`.\n"
            "  y ~ x + * z\n"
            "          ^");
  EXPECT_THAT(error("größe ~ ß ß"), EndsWith("\n  größe ~ ß ß\n            ^"));
  EXPECT_THAT(error("y ~\nx x"), EndsWith("\n  y ~ x x\n        ^"));
  const std::string long_sum = "y ~ " + std::string(300, 'x') + " + " + std::string(300, 'z') + " )";
  EXPECT_THAT(error(long_sum), HasSubstr("\n  ...zzz"));
}

TEST(Formula, MalformedOnesAreRefused) {
  EXPECT_THAT(error(""), HasSubstr("is empty"));
  EXPECT_THAT(error("y"), HasSubstr("the formula ends where `~`"));
  EXPECT_THAT(error("y ~"), HasSubstr("the formula ends where a variable"));
  EXPECT_THAT(error("y ~ x ~ z"), HasSubstr("one `~`"));
  EXPECT_THAT(error("y ~ (x + z"), HasSubstr("this parenthesis is not closed"));
  EXPECT_THAT(error("y ~ log(x"), HasSubstr("this parenthesis is not closed"));
  EXPECT_THAT(error("y ~ x)"), HasSubstr("this should be an operator"));
  EXPECT_THAT(error("y ~ `x"), HasSubstr("the quote ` is not closed"));
  EXPECT_THAT(error("y ~ f == \"a"), HasSubstr("the quote \" is not closed"));
  EXPECT_THAT(error("y ~ x$z"), HasSubstr("$ has no meaning"));
  EXPECT_THAT(error("y ~ 2x"), HasSubstr("a name cannot begin with a digit"));
  EXPECT_THAT(error("y ~ x %in z"), HasSubstr("begins with %"));
  EXPECT_THAT(error("y ~ 2"), HasSubstr("a number can be 1 (an intercept) or 0"));
  EXPECT_THAT(error("y ~ \"x\""), HasSubstr("text is no variable"));
  EXPECT_THAT(error("y ~ x | g"), HasSubstr("a group stands in parentheses"));
  EXPECT_THAT(error("y ~ x * (1 | g)"), HasSubstr("cannot be part of a product"));
  EXPECT_THAT(error("y ~ x - (1 | g)"), HasSubstr("a group cannot be subtracted"));
  EXPECT_THAT(error("y ~ x - offset(z)"), HasSubstr("an offset cannot be subtracted"));
  EXPECT_THAT(error("y ~ x^0.5"), HasSubstr("whole number of at least 1"));
  EXPECT_THAT(error("y ~ x^z"), HasSubstr("powers of numbers stand in I(...)"));
  EXPECT_THAT(error("y | se(z) ~ x"), HasSubstr("| trials(n) and | weights(w)"));
  EXPECT_THAT(error("y | trials(n) + trials(m) ~ x"), HasSubstr("twice"));
  EXPECT_THAT(error("cbind(a) ~ x"), HasSubstr("cbind(successes, failures)"));
  EXPECT_THAT(error("cbind(a, b) | trials(n) ~ x"), HasSubstr("has the trials in it already"));
  EXPECT_THAT(error(std::string("y ~ \xff")), HasSubstr("not text in UTF-8"));
  EXPECT_THAT(error("y ~ (1 | g + h)"), HasSubstr("factors joined by `:` or `/`"));
  EXPECT_THAT(error("y ~ (0 | g)"), HasSubstr("neither an intercept nor a variable"));
  EXPECT_THAT(error("y ~ (offset(x) | g)"), HasSubstr("an offset cannot stand in a group"));
}

TEST(Formula, NestingIsBounded) {
  const auto wrapped = [](const std::string& open, const std::string& close, int depth) {
    std::string text = "y ~ ";
    for (int i = 0; i < depth; ++i) text += open;
    text += "x";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  EXPECT_THAT(Formula(wrapped("(", ")", 100)).variables(), ElementsAre("y", "x"));
  for (const int depth : {1000, 100'000}) {
    EXPECT_THAT(error(wrapped("(", ")", depth)), HasSubstr("nested more than 200 deep"));
    EXPECT_THAT(error(wrapped("log(", ")", depth)), HasSubstr("nested more than 200 deep"));
    EXPECT_THAT(error(wrapped("-", "", depth)), HasSubstr("nested more than 200 deep"));
    EXPECT_THAT(error(wrapped("x^", "", depth)), HasSubstr("nested more than 200 deep"));
    EXPECT_THAT(error(wrapped("x:", "", depth)), HasSubstr("more than 1000 operators deep"));
    EXPECT_THAT(error(wrapped("I(", ")", depth)), HasSubstr("nested more than 200 deep"));
  }
  EXPECT_THAT(error("y ~ I(" + wrapped("x + ", "", 5000).substr(4) + ")"),
              HasSubstr("more than 1000 operators deep"));
}

TEST(Formula, SumsMayBeLong) {
  std::string text = "y ~ x0";
  for (int i = 1; i < 20'000; ++i) text += " + x" + std::to_string(i);
  EXPECT_EQ(Formula(text).variables().size(), 20'001U);
}

TEST(Formula, TermsThatExplodeAreRefused) {
  std::string text = "y ~ (x0";
  for (int i = 1; i < 60; ++i) text += " + x" + std::to_string(i);
  EXPECT_THAT(error(text + ")^20"), HasSubstr("more than 100000 terms"));
}

}  // namespace
}  // namespace onward::formula
