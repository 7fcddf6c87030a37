#include "onward/util/release.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace onward::testing {
namespace {

TEST(Release, GivesTheMemoryBack) {
  std::vector<double> values(1000);
  release(values);
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(values.capacity(), 0U);
}

}  // namespace
}  // namespace onward::testing
