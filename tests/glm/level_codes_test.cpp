// Codes of levels in 16 bits or in 32: the same numbers, and the same bits of what is summed by them.

#include <cmath>

#include <gmock/gmock.h>

#include "onward/glm/level_codes.hpp"
#include "src/glm/group_rows.hpp"

namespace onward::testing {
namespace {

using namespace glm;

TEST(LevelCodes, KeepWhatTheyAreGiven) {
  for (const std::uint32_t largest : {65'535U, 65'536U, 70'000U, 0xfffffffeU}) {
    const LevelCodes codes{3, 0, largest, 1};
    ASSERT_EQ(codes.size(), 4U);
    EXPECT_EQ(codes[0], 3U);
    EXPECT_EQ(codes[2], largest);
    std::size_t bytes = 0;
    codes.visit([&](const auto* level) { bytes = sizeof *level; });
    EXPECT_EQ(bytes, largest > 65'535 ? 4U : 2U) << largest;
  }
  EXPECT_EQ(LevelCodes().size(), 0U);
}

TEST(LevelCodes, BothWidthsGiveTheSameSums) {
  constexpr std::size_t rows = 20'000, levels = 66'000, used = 300, shift = levels - used;
  std::vector<double> y(rows);
  std::vector<std::uint32_t> low(rows), high(rows);
  Floats eta(padded_rows(rows), 0.0f), slopes(padded_rows(rows), 0.0f);
  for (std::size_t i = 0; i < rows; ++i) {
    y[i] = i % 3 == 0 ? 1 : 0;
    low[i] = static_cast<std::uint32_t>(i * i % used);
    high[i] = low[i] + static_cast<std::uint32_t>(shift);
    eta[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    slopes[i] = static_cast<float>(std::cos(static_cast<double>(i)));
  }
  const Observations observations(Family::bernoulli, y);
  for (const bool with_slope : {false, true}) {
    const auto result = [&](const std::vector<std::uint32_t>& codes, std::size_t first) {
      ThreadPool pool(1);
      GroupTerm term;
      term.levels.resize(levels);
      term.level_of_row = codes;
      term.columns = {"Intercept"};
      term.values.resize(1);
      if (with_slope) term.columns.emplace_back("x"), term.values.push_back(slopes);
      const std::size_t q = term.width();
      const GroupRows group(observations, term);
      std::vector<float> delta(levels * q), along(levels);
      for (std::size_t l = 0; l < used; ++l) {
        along[first + l] = 0.01f * static_cast<float>(l);
        for (std::size_t c = 0; c < q; ++c) delta[(first + l) * q + c] = 0.001f * static_cast<float>(l + c);
      }
      std::vector<double> all(levels * group.numbers());
      group.sums(eta.data(), delta.data(), {}, all, pool);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * group.numbers());
      std::vector<double> out(begin, begin + static_cast<std::ptrdiff_t>(used * group.numbers()));
      Floats moved = eta;
      group.move(moved.data(), delta.data(), pool);
      out.insert(out.end(), moved.begin(), moved.end());
      std::vector<float> direction(rows);
      group.direction(q - 1, along, 0, rows, direction.data());
      out.insert(out.end(), direction.begin(), direction.end());
      return out;
    };
    const std::vector<double> narrow = result(low, 0);
    EXPECT_EQ(narrow, result(high, shift));
    EXPECT_NE(narrow[1], 0);
  }
}

/// One thread sums part after part in the same memory, several have memory for each part.
TEST(GroupSums, HaveTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::size_t rows = 40'000, levels = 7;
  std::vector<double> y(rows);
  std::vector<std::uint32_t> codes(rows);
  Floats eta(padded_rows(rows), 0.0f);
  for (std::size_t i = 0; i < rows; ++i) {
    y[i] = i % 3 == 0 ? 1 : 0;
    codes[i] = static_cast<std::uint32_t>(i % levels);
    eta[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  }
  const Observations observations(Family::bernoulli, y);
  GroupTerm term;
  term.levels.resize(levels);
  term.level_of_row = codes;
  term.columns = {"Intercept"};
  term.values.resize(1);
  const GroupRows group(observations, term);
  const auto sums = [&](std::size_t threads) {
    ThreadPool pool(threads);
    std::vector<double> out(levels * group.numbers());
    group.sums(eta.data(), nullptr, {}, out, pool);
    return out;
  };
  EXPECT_EQ(sums(1), sums(2));
  EXPECT_EQ(sums(1), sums(3));
  // And what one thread leaves behind is not in the next sums.
  EXPECT_EQ(sums(1), sums(1));
}

}  // namespace
}  // namespace onward::testing
