// What was meant by what was typed.

#include "onward/util/suggest.hpp"

#include <gtest/gtest.h>

namespace onward {
namespace {

const std::vector<std::string> options{"--inner", "--init", "--draws", "--dim", "--out", "--metric"};

TEST(Suggest, SlipsOfTheFingers) {
  EXPECT_EQ(suggestion("--drwas", options), " Did you mean --draws?");
  EXPECT_EQ(suggestion("-draws", options), " Did you mean --draws?");
  EXPECT_EQ(suggestion("--metrc", options), " Did you mean --metric?");
}

TEST(Suggest, WordsThatBeginAlike) {
  EXPECT_EQ(suggestion("--dimension", options), " Did you mean --dim?");
  EXPECT_EQ(suggestion("--met", options), " Did you mean --metric?");
  EXPECT_EQ(suggestion("--output", options), " Did you mean --out?");
}

TEST(Suggest, NothingForAnotherWord) {
  EXPECT_EQ(suggestion("--iter", options), "");  // two of four letters of --inner are wrong
  EXPECT_EQ(suggestion("--bogus", options), "");
  EXPECT_EQ(suggestion("--", options), "");
}

}  // namespace
}  // namespace onward
