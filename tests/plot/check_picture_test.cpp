// Pictures of posterior predictive checks: what is in them, and what cannot be drawn.

#include "onward/plot/check_picture.hpp"

#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace plot;

class CheckPictures : public Scratch {
 protected:
  std::string drawn(const CheckPicture& picture) const {
    check_picture(path("check.svg").string(), picture);
    return get(path("check.svg"));
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  }
};

TEST_F(CheckPictures, DrawsDensitiesBarsAndLevels) {
  CheckPicture picture{.response = "y",
                       .distributions = {{"all", {1, 2, 2.5, 4}, {{1, 2, 3, 4}, {0.5, 2, 3, 1e9}}}},
                       .statistics = {{"mean", 2.4, {2.5, 2.6, 2.4}, "p = 0.500"}}};
  const std::string densities = drawn(picture);
  EXPECT_THAT(densities, HasSubstr("<svg"));
  picture.bars = true;
  picture.distributions[0] = {"all", {0, 1, 1, 2}, {{0, 0, 1, 2}, {2, 2, 2, 1}}};
  picture.classes = {"low", "mid", "high"};
  const std::string bars = drawn(picture);
  EXPECT_NE(bars, densities);
  picture.classes.clear();
  picture.distributions[0].y[0] = 5000;  // numbers are put together
  EXPECT_LT(drawn(picture).size(), 5 * bars.size());
  picture.statistics.clear();
  picture.levels = {"a", "b"};
  picture.by_level = {{"sd", {1, 5}, {0, 0}, {2, 2}}};
  const std::string levels = drawn(picture);
  EXPECT_GT(levels.size(), 1000U);
  picture.by_level[0].observed[1] = 1;  // the point is no longer outside of its interval
  EXPECT_NE(drawn(picture), levels);
  // All equal: a density that is a rule, a histogram of one bar.
  picture = {.response = "y",
             .distributions = {{"all", {3, 3}, {{3, 3}}}},
             .statistics = {{"min", 3, {3, 3, 3}, ""}}};
  EXPECT_THAT(drawn(picture), HasSubstr("<svg"));
}

TEST_F(CheckPictures, RefusesWhatDoesNotFit) {
  const auto error = [&](const CheckPicture& picture) {
    return error_of([&] { check_picture(path("check.svg").string(), picture); });
  };
  EXPECT_THAT(error({.response = "y"}), HasSubstr("nothing to make a picture of"));
  EXPECT_THAT(error({.response = "y", .distributions = {{"all", {1, 2}, {}}}}), HasSubstr("replicated"));
  EXPECT_THAT(error({.response = "y", .statistics = {{"sd", 1, {}, ""}}}), HasSubstr("the statistic sd"));
  EXPECT_THAT(error({.response = "y", .levels = {"a"}, .by_level = {{"sd", {1, 2}, {1}, {1}}}}),
              HasSubstr("sd has 2 numbers for 1 levels"));
}

}  // namespace
}  // namespace onward::testing
