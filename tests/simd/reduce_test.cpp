// The order of a sum is part of its result: compared bit for bit with the order written out.

#include <gtest/gtest.h>

#include <onward/simd/reduce.hpp>
#include <random>
#include <vector>

namespace simd = onward::simd;

namespace {

double in_order(const std::vector<double>& x, const std::vector<double>& y) {
  double s[8] = {};
  for (std::size_t i = 0; i < x.size(); ++i) s[i % 8] = simd::mul_add(x[i], y[i], s[i % 8]);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

TEST(Reduce, OrderDependsOnTheLengthAlone) {
  using B = simd::Batch<double>;
  std::mt19937_64 bits(11);
  std::normal_distribution<double> normal;
  for (std::size_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 31, 32, 33, 100, 1000}) {
    std::vector<std::vector<double>> x(B::size, std::vector<double>(n)), y = x;
    std::vector<B> xs(n), ys(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::array<double, B::size> a, b;
      for (std::size_t j = 0; j < B::size; ++j) {
        a[j] = x[j][i] = normal(bits);
        b[j] = y[j][i] = normal(bits);
      }
      xs[i] = B::load_unaligned(a.data());
      ys[i] = B::load_unaligned(b.data());
    }
    const B dots = simd::dot<B>(xs, ys), squares = simd::sum_of_squares<B>(xs);
    for (std::size_t j = 0; j < B::size; ++j) {
      EXPECT_EQ(simd::dot(x[j], y[j]), in_order(x[j], y[j])) << n;
      EXPECT_EQ(simd::lane(dots, j), in_order(x[j], y[j])) << n;
      EXPECT_EQ(simd::sum_of_squares(x[j]), in_order(x[j], x[j])) << n;
      EXPECT_EQ(simd::lane(squares, j), in_order(x[j], x[j])) << n;
    }
  }
}

TEST(Reduce, SumsOfWholeNumbersAreExact) {
  std::vector<double> x(101);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  EXPECT_EQ(simd::sum_of_squares(x), 338350.0);
  const std::vector<float> f(x.begin(), x.end());
  EXPECT_EQ(simd::sum_of_squares<float>(f), 338350.0f);
}

}  // namespace
