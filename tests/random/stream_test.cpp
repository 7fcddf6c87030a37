// The streams against Random123, against themselves in other shapes, and against the distributions they
// claim. Bounds on a statistic are its 1e-6 quantiles or rarer; each statistical check also has a wrong
// generator to catch.

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <onward/random/philox.hpp>
#include <onward/random/stream.hpp>
#include <onward/simd/elementary.hpp>
#include <onward/simd/reduce.hpp>
#include <random>
#include <vector>

namespace {

using onward::Purpose;
using onward::Stream;
using onward::StreamBatch;
namespace simd = onward::simd;
using B = simd::Batch<double>;

// ---------------------------------------------------------------- bits

r123::Philox4x32::ctr_type reference(std::uint64_t seed, std::array<std::uint32_t, 4> counter) {
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  return r123::Philox4x32()({{counter[0], counter[1], counter[2], counter[3]}}, key);
}

TEST(Philox, KnownAnswer) {  // from the generator's published test vectors
  const auto r = reference(0, {0, 0, 0, 0});
  EXPECT_EQ(r[0], 0x6627e8d5u);
  const auto ours = Stream(0, 0).block(0, Purpose{}, 0);
  EXPECT_EQ(ours, (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
}

TEST(Philox, BlocksAreThoseOfRandom123AtTheDocumentedCounter) {
  std::mt19937_64 bits(3);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t seed = bits(), step = bits() >> 16;
    auto chain = static_cast<std::uint32_t>(bits()), index = static_cast<std::uint32_t>(bits());
    auto purpose = static_cast<std::uint16_t>(bits());
    if (i == 0) seed = ~0ull, step = (1ull << 48) - 1, chain = index = ~0u, purpose = 0xffff;
    const auto expected =
        reference(seed, {index, static_cast<std::uint32_t>(step),
                         static_cast<std::uint32_t>(step >> 32) | std::uint32_t{purpose} << 16, chain});
    const auto got = Stream(seed, chain).block(step, Purpose{purpose}, index);
    for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(got[k], expected[k]);
  }
}

TEST(Philox, EveryLaneOfARegisterIsRandom123) {
  using Words = simd::Batch<std::uint64_t>;
  std::mt19937_64 bits(4);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t seed = bits();
    std::array<std::array<std::uint64_t, Words::size>, 4> c, r;
    onward::random::Block<Words> counter;
    for (std::size_t k = 0; k < 4; ++k) {
      for (auto& v : c[k]) v = bits() & 0xffffffffu;
      counter[k] = Words::load_unaligned(c[k].data());
    }
    const auto words = onward::random::philox(counter, seed);
    for (std::size_t k = 0; k < 4; ++k) words[k].store_unaligned(r[k].data());
    for (std::size_t j = 0; j < Words::size; ++j) {
      const auto expected =
          reference(seed, {static_cast<std::uint32_t>(c[0][j]), static_cast<std::uint32_t>(c[1][j]),
                           static_cast<std::uint32_t>(c[2][j]), static_cast<std::uint32_t>(c[3][j])});
      for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(static_cast<std::uint32_t>(r[k][j]), expected[k]);
    }
  }
}

TEST(Stream, UniformsAndNormalsFollowTheDocumentedFormula) {
  const Stream s(99, 3);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const auto w = s.block(5, Purpose::noise, i);
    const auto fraction = [](std::uint32_t low, std::uint32_t high) {
      return static_cast<double>((std::uint64_t{high} >> 11) << 32 | low) * 0x1p-53;
    };
    const double u = fraction(w[0], w[1]), v = fraction(w[2], w[3]);
    EXPECT_EQ(s.uniform(5, Purpose::noise, 2 * i), u);
    EXPECT_EQ(s.uniform(5, Purpose::noise, 2 * i + 1), v);
    const double r = std::sqrt(-2 * std::log(1 - u)), a = std::acos(0.0) * (v - 0.5);
    double x = (w[3] & 1 ? -r : r) * std::cos(a), y = r * std::sin(a);
    if (w[3] & 2) std::swap(x, y);
    ASSERT_NEAR(s.normal(5, Purpose::noise, 2 * i), x, 8e-15);
    ASSERT_NEAR(s.normal(5, Purpose::noise, 2 * i + 1), y, 8e-15);
  }
}

TEST(Stream, AnElementDoesNotDependOnTheLengthOfItsSequence) {
  const Stream s(7, 2);
  for (std::size_t n = 0; n <= 200; ++n) {
    std::vector<double> z(n + 8, -99.0), u(n + 8, -99.0);
    s.normals(11, Purpose::noise, std::span(z).first(n));
    s.uniforms(11, Purpose::noise, std::span(u).first(n));
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(z[i], s.normal(11, Purpose::noise, i)) << i << " of " << n;
      ASSERT_EQ(u[i], s.uniform(11, Purpose::noise, i)) << i << " of " << n;
    }
    for (std::size_t i = n; i < n + 8; ++i)
      ASSERT_TRUE(z[i] == -99.0 && u[i] == -99.0) << "wrote past the end";
  }
}

TEST(Stream, EveryLaneIsTheStreamOfItsChain) {
  for (std::uint32_t first : {0u, 5u, 0xfffffffeu})  // the last wraps round
    for (std::size_t n : {1, 2, 3, 4, 7, 8, 11, 64, 65}) {
      const StreamBatch many(123, first);
      std::vector<B> z(n), u(n), v(n);
      many.normals(9, Purpose::noise, z);
      many.uniforms(9, Purpose::accept, u);
      many.direction(9, Purpose::direction, v);
      for (std::uint32_t j = 0; j < B::size; ++j) {
        const Stream one(123, first + j);
        std::vector<double> z1(n), u1(n), v1(n);
        one.normals(9, Purpose::noise, z1);
        one.uniforms(9, Purpose::accept, u1);
        one.direction(9, Purpose::direction, v1);
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(simd::lane(z[i], j), z1[i]);
          ASSERT_EQ(simd::lane(u[i], j), u1[i]);
          ASSERT_EQ(simd::lane(v[i], j), v1[i]);
          ASSERT_EQ(simd::lane(many.normal(9, Purpose::noise, i), j), z1[i]);
          ASSERT_EQ(simd::lane(many.uniform(9, Purpose::accept, i), j), u1[i]);
        }
      }
    }
}

TEST(Stream, UniformsAreInsideTheIntervalAndUseAllTheirBits) {
  std::vector<double> u(2'000'000);
  Stream(17, 0).uniforms(0, Purpose::accept, u);
  std::size_t odd = 0;
  for (double x : u) {
    ASSERT_TRUE(x > 0 && x < 1);
    const double k = x * 0x1p53;
    ASSERT_EQ(k, std::floor(k));
    odd += static_cast<std::uint64_t>(k) & 1;
  }
  const double n = static_cast<double>(u.size());
  EXPECT_LT(std::abs(static_cast<double>(odd) - n / 2) / std::sqrt(n / 4), 4.9);
}

// ---------------------------------------------------------------- distributions

/// What the checks need of a generator: the normals of a (chain, step, purpose).
using Normals = void (*)(std::uint32_t chain, std::uint64_t step, Purpose, std::span<double>);

void ours(std::uint32_t chain, std::uint64_t step, Purpose purpose, std::span<double> z) {
  Stream(2024, chain).normals(step, purpose, z);
}
void reuses_counters(std::uint32_t chain, std::uint64_t step, Purpose, std::span<double> z) {
  Stream(2024, chain).normals(step, Purpose::noise, z);
}
void neighbours_overlap(std::uint32_t chain, std::uint64_t step, Purpose purpose, std::span<double> z) {
  Stream(2024, 0).normals(step + chain, purpose, z);  // chain 1, step 0 is chain 0, step 1
}
void wrong_scale(std::uint32_t chain, std::uint64_t step, Purpose purpose, std::span<double> z) {
  Stream(2024, chain).normals(step, purpose, z);
  for (double& x : z) x *= 1.005;
}
void no_far_tail(std::uint32_t chain, std::uint64_t step, Purpose purpose, std::span<double> z) {
  Stream(2024, chain).normals(step, purpose, z);
  for (double& x : z)
    if (std::abs(x) > 4.25) x /= 2;
}
void pairs_share_a_radius(std::uint32_t chain, std::uint64_t step, Purpose purpose, std::span<double> z) {
  const Stream s(2024, chain);
  for (std::size_t i = 0; i + 3 < z.size();
       i += 4) {  // four normals from one radius: each normal, squares related
    const double r = std::sqrt(-2 * std::log(s.uniform(step, purpose, i)));
    for (std::size_t k = 0; k < 4; k += 2) {
      const auto p = simd::sincos_2pi(s.uniform(step, purpose, i + 1 + k));
      z[i + k] = r * p.cos, z[i + k + 1] = r * p.sin;
    }
  }
}

/// The largest z-score of the first four moments, 10^6 draws.
double worst_moment(Normals normals) {
  std::vector<double> z(1'000'000);
  normals(0, 0, Purpose::noise, z);
  double m[4] = {};
  for (double x : z) m[0] += x, m[1] += x * x - 1, m[2] += x * x * x, m[3] += x * x * x * x - 3;
  const double variance[4] = {1, 2, 15, 96};  // of x, x^2, x^3, x^4
  double worst = 0;
  for (int k = 0; k < 4; ++k)
    worst = std::max(worst, std::abs(m[k]) / std::sqrt(variance[k] * static_cast<double>(z.size())));
  return worst;
}

/// sqrt(n) times the Kolmogorov-Smirnov distance, 10^6 draws; above 2.694 with probability 1e-6.
double kolmogorov_smirnov(Normals normals) {
  std::vector<double> z(1'000'000);
  normals(0, 0, Purpose::noise, z);
  std::sort(z.begin(), z.end());
  const double n = static_cast<double>(z.size());
  double d = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double f = 0.5 * std::erfc(-z[i] / std::sqrt(2.0));
    d = std::max({d, f - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - f});
  }
  return std::sqrt(n) * d;
}

/// The z-score of the number of draws beyond 4 and beyond 4.5, the larger of both; 2 10^7 draws.
double tail_score(Normals normals) {
  std::vector<double> z(1'000'000);
  double beyond[2] = {}, n = 0;
  for (std::uint64_t step = 0; step < 20; ++step) {
    normals(0, step, Purpose::noise, z);
    n += static_cast<double>(z.size());
    for (double x : z) beyond[0] += std::abs(x) > 4, beyond[1] += std::abs(x) > 4.5;
  }
  double worst = 0;
  for (int k = 0; k < 2; ++k) {
    const double p = std::erfc((k == 0 ? 4 : 4.5) / std::sqrt(2.0));
    worst = std::max(worst, std::abs(beyond[k] - n * p) / std::sqrt(n * p));
  }
  return worst;
}

/// The largest correlation between the sequences of neighbouring chains, steps and purposes, within pairs,
/// and between neighbouring elements, of values and of squares, as a z-score.
double worst_correlation(Normals normals) {
  const std::size_t n = 200'000;
  std::vector<std::vector<double>> sequences;
  for (std::uint32_t chain : {0u, 1u, 2u})
    for (std::uint64_t step : {0ull, 1ull, 2ull, 1ull << 32})
      for (Purpose purpose : {Purpose::direction, Purpose::reverse_direction, Purpose::noise}) {
        sequences.emplace_back(n);
        normals(chain, step, purpose, sequences.back());
      }
  double worst = 0;
  const auto compare = [&](std::span<const double> a, std::span<const double> b) {
    double xy = 0, squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      xy += a[i] * b[i];
      squares += (a[i] * a[i] - 1) * (b[i] * b[i] - 1);  // of variance 4
    }
    const double scale = std::sqrt(static_cast<double>(a.size()));
    worst = std::max({worst, std::abs(xy) / scale, std::abs(squares) / (2 * scale)});
  };
  for (std::size_t a = 0; a < sequences.size(); ++a) {
    for (std::size_t b = a + 1; b < sequences.size(); ++b) compare(sequences[a], sequences[b]);
    for (std::size_t lag : {1, 2, 8, 16})
      compare(std::span(sequences[a]).first(n - lag), std::span(sequences[a]).subspan(lag));
  }
  return worst;
}

TEST(Normals, HaveTheMomentsOfANormal) {
  EXPECT_LT(worst_moment(ours), 5.1);
  EXPECT_GT(worst_moment(wrong_scale), 5.1);
}

TEST(Normals, PassKolmogorovSmirnov) {
  EXPECT_LT(kolmogorov_smirnov(ours), 2.694);
  EXPECT_GT(kolmogorov_smirnov([](std::uint32_t c, std::uint64_t s, Purpose p, std::span<double> z) {
              ours(c, s, p, z);
              for (double& x : z) x = x * (1 - 0.02 * std::exp(-x * x));  // a dent in the middle
            }),
            2.694);
}

TEST(Normals, HaveTheTailsOfANormal) {
  EXPECT_LT(tail_score(ours), 5.1);
  EXPECT_GT(tail_score(no_far_tail), 5.1);
}

TEST(Normals, AreIndependentBetweenChainsStepsAndPurposes) {
  // 774 pairs, two statistics each: 6.1 is 1e-6 for all together.
  EXPECT_LT(worst_correlation(ours), 6.1);
  EXPECT_GT(worst_correlation(reuses_counters), 6.1);
  EXPECT_GT(worst_correlation(neighbours_overlap), 6.1);
  EXPECT_GT(worst_correlation(pairs_share_a_radius), 6.1);
}

/// The largest z-score of the means and second moments of unit vectors against the uniform law on the sphere.
template <class Draw>
double sphere_score(Draw draw, std::size_t dimension) {
  const std::size_t n = 40'000, D = dimension;
  std::vector<double> v(D), mean(D), second(D * D);
  for (std::uint64_t step = 0; step < n; ++step) {
    draw(step, std::span<double>(v));
    for (std::size_t i = 0; i < D; ++i) {
      mean[i] += v[i];
      for (std::size_t j = 0; j <= i; ++j) second[i * D + j] += v[i] * v[j];
    }
  }
  const double d = static_cast<double>(D), m = static_cast<double>(n);
  double worst = 0;
  for (std::size_t i = 0; i < D; ++i) {
    worst = std::max(worst, std::abs(mean[i]) / std::sqrt(m / d));
    for (std::size_t j = 0; j < i; ++j)
      worst = std::max(worst, std::abs(second[i * D + j]) / std::sqrt(m / (d * (d + 2))));
    worst =
        std::max(worst, std::abs(second[i * D + i] - m / d) / std::sqrt(m * 2 * (d - 1) / (d * d * (d + 2))));
  }
  return worst;
}

TEST(Directions, AreUniformOnTheSphere) {
  const Stream s(31, 0);
  for (std::size_t D : {2, 3, 11, 20}) {
    EXPECT_LT(sphere_score([&](std::uint64_t step, auto v) { s.direction(step, Purpose::direction, v); }, D),
              5.6)
        << D;
    const auto cube = [&](std::uint64_t step,
                          std::span<double> v) {  // centred uniforms: the corners are favoured
      s.uniforms(step, Purpose::direction, v);
      for (double& x : v) x -= 0.45;
      const double norm = std::sqrt(simd::sum_of_squares(v));
      for (double& x : v) x /= norm;
    };
    EXPECT_GT(sphere_score(cube, D), 5.6) << D;
  }
}

TEST(Directions, HaveUnitLength) {
  for (std::size_t D : {1, 2, 7, 8, 11, 16, 17, 100, 1000}) {
    std::vector<double> v(D), z(D);
    for (std::uint64_t step = 0; step < 50; ++step) {
      Stream(1, 1).direction(step, Purpose::direction, v);
      Stream(1, 1).normals(step, Purpose::direction, z);
      EXPECT_NEAR(simd::sum_of_squares(v), 1.0, 1e-15 * std::sqrt(static_cast<double>(D)) + 1e-15);
      EXPECT_NEAR(v[0] * std::sqrt(simd::sum_of_squares(z)), z[0], 1e-14);
    }
  }
  Stream(1, 1).direction(0, Purpose::direction, {});  // of no dimension: nothing to do
}

}  // namespace
