// Loops on several threads: every item once, exceptions come back, sums in an order of their own.

#include "onward/util/thread_pool.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace onward {
namespace {

TEST(ThreadPool, TakesEveryItemOnce) {
  for (const std::size_t threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t count : {0u, 1u, 2u, 100u})
      for (int round = 0; round < 50; ++round) {
        std::vector<int> taken(count, 0);
        pool.for_each(count, [&](std::size_t i) { ++taken[i]; });
        EXPECT_EQ(taken, std::vector<int>(count, 1));
      }
  }
}

TEST(ThreadPool, ThrowsWhatAnItemThrewAndGoesOn) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.for_each(20,
                             [](std::size_t i) {
                               if (i == 7) throw std::runtime_error("seven");
                             }),
               std::runtime_error);
  std::atomic<int> count = 0;
  pool.for_each(20, [&](std::size_t) { ++count; });
  EXPECT_EQ(count, 20);
}

TEST(TreeSum, AddsBlocksOfPowersOfTwo) {
  std::vector<double> x(11);
  std::iota(x.begin(), x.end(), 1.0);
  EXPECT_EQ(tree_sum<double>(x), 66);
  // (((a b)(c d))((e f)(g h))) ((i j) k), told apart by rounding: 1e16 swallows what is added one by one.
  const std::vector<double> y{1e16, 1, 1, 1};
  EXPECT_EQ(tree_sum<double>(y), (1e16 + 1) + (1.0 + 1.0));
  EXPECT_EQ(tree_sum<double>(std::vector<double>{}), 0);
}

}  // namespace
}  // namespace onward
