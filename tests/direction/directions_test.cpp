// Sources of directions: what each of them promises, as vectors and as types.

#include "onward/direction/directions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"
#include "vector_of.hpp"

namespace onward {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// --- what a kernel needs is a type: this does not compile otherwise

template <class K, class Random>
concept Steps = requires(const K& kernel, State& state, AnyTarget& target, const Metric& metric,
                         const Random& random, Workspace& w) {
  kernel.step(state, target, metric, random, w);
};

template <class K>
constexpr bool steps_with_any = Steps<K, StepRandom>&& Steps<K, SourcedRandom<SphereDirections>>&&
    Steps<K, SourcedRandom<OrthogonalPairs>>&& Steps<K, SourcedRandom<FrameDirections>>&&
        Steps<K, SourcedRandom<AxisDirections>>&& Steps<K, SourcedRandom<BlockDirections>>&&
            Steps<K, SourcedRandom<MixedDirections>>;
static_assert(steps_with_any<LineFmala> && steps_with_any<PcLineFmala> && steps_with_any<NewtonLine> &&
              steps_with_any<Rwm> && steps_with_any<Mala>);

template <class K>
constexpr bool refuses_sequences =
    !Steps<K, SourcedRandom<FrameDirections>> && !Steps<K, SourcedRandom<AxisDirections>> &&
    !Steps<K, SourcedRandom<BlockDirections>> && !Steps<K, SourcedRandom<MixedDirections>>;
static_assert(refuses_sequences<Fmala> && refuses_sequences<PcFmala> && refuses_sequences<FreshFmala> &&
              refuses_sequences<FreshPcFmala>);

template <class K>
constexpr bool takes_pairs = Steps<K, SourcedRandom<OrthogonalPairs>>;
static_assert(takes_pairs<FreshFmala> && takes_pairs<FreshPcFmala> && !takes_pairs<Fmala> &&
              !takes_pairs<PcFmala>);
static_assert(Steps<Fmala, StepRandom> && Steps<PcFmala, SourcedRandom<SphereDirections>>);
static_assert(!Serves<SourcedRandom<AxisDirections>, Fmala> && Serves<SphereDirections, Fmala>);

// --- what comes out

const std::vector<std::size_t> sizes{1, 2, 5, 32, 33, 100};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TEST(FrameDirections, AreOrthonormalWithinAFrame) {
  const Stream stream(4, 2);
  for (const std::size_t size : sizes) {
    FrameDirections frames(size);
    for (const std::uint64_t frame : {0, 1, 7}) {
      std::vector<std::vector<double>> v;
      for (std::size_t i = 0; i < size; ++i) v.push_back(vector_of(frames, stream, frame * size + i, size));
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          EXPECT_NEAR(dot(v[i], v[j]), i == j ? 1 : 0, 1e-13) << size << ": " << i << ", " << j;
    }
  }
}

/// Where vectors of two frames have nothing to do with each other, their products have mean square 1/D.
TEST(FrameDirections, AreFreshFromFrameToFrame) {
  const Stream stream(4, 2);
  for (const std::size_t size : sizes) {
    FrameDirections frames(size);
    std::set<std::vector<double>> seen;
    constexpr int count = 400;
    double squares = 0;
    std::vector<double> before(size);
    for (std::uint64_t frame = 0; frame < count; ++frame) {
      const auto v = vector_of(frames, stream, frame * size, size);
      seen.insert(v);
      if (frame > 0) squares += std::pow(dot(v, before), 2) * static_cast<double>(size) / (count - 1);
      before = v;
    }
    if (size == 1) {
      EXPECT_EQ(seen.size(), 2u) << "there and back is all there is";
    } else {
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
      EXPECT_NEAR(squares, 1, 5.5 * std::sqrt(2.0 / (count - 1)))
          << size;  // at most the spread of chi-square(1)
    }
  }
}

/// Below the limit a frame is uniform over all rotations, so each of its vectors is uniform on the sphere:
/// E v_i² = 1/D and E v_i⁴ = 3/(D(D+2)).
TEST(FrameDirections, OfFewDimensionsAreUniformOnTheSphere) {
  const Stream stream(9, 0);
  constexpr std::size_t size = 5;
  constexpr double count = 20'000;
  FrameDirections frames(size);
  for (const std::size_t index : {0, 4}) {
    double mean = 0, square = 0, fourth = 0;
    for (std::uint64_t frame = 0; frame < 20'000; ++frame) {
      const double x = vector_of(frames, stream, frame * size + index, size)[2];
      mean += x / count;
      square += x * x / count;
      fourth += std::pow(x, 4) / count;
    }
    EXPECT_NEAR(mean, 0, 5.5 * std::sqrt(0.2 / count));
    EXPECT_NEAR(square, 0.2, 5.5 * std::sqrt((3.0 / 35 - 0.04) / count));
    EXPECT_NEAR(fourth, 3.0 / 35, 5.5 * std::sqrt(105.0 / (5 * 7 * 9 * 11) / count));
  }
}

TEST(OrthogonalPairs, AreTwoVectorsOfOneFrame) {
  OrthogonalPairs pairs;
  const Stream stream(6, 1);
  for (const std::size_t size : {2, 5, 40})
    for (std::uint64_t step = 1; step < 50; ++step) {
      std::vector<double> v(size), back(size);
      pairs.fill(stream, step, v);
      pairs.fill_reverse(stream, step, back);
      EXPECT_NEAR(dot(v, v), 1, 1e-14);
      EXPECT_NEAR(dot(back, back), 1, 1e-14);
      EXPECT_NEAR(dot(v, back), 0, 1e-14);
    }
  std::vector<double> alone(1);
  pairs.fill_reverse(stream, 1, alone);
  EXPECT_EQ(std::abs(alone[0]), 1);
}

TEST(AxisDirections, GoRound) {
  AxisDirections axes;
  const Stream stream(1, 0);
  EXPECT_THAT(vector_of(axes, stream, 0, 3), ElementsAre(1, 0, 0));
  EXPECT_THAT(vector_of(axes, stream, 1, 3), ElementsAre(0, 1, 0));
  EXPECT_THAT(vector_of(axes, stream, 5, 3), ElementsAre(0, 0, 1));
  EXPECT_THAT(vector_of(axes, stream, 6, 3), ElementsAre(1, 0, 0));
}

TEST(BlockDirections, StayInsideTheirBlocksAndSpanThem) {
  const BlockDirections::Blocks blocks{{1, 4}, {0}, {5, 2, 3}};
  BlockDirections source(6, blocks);
  const Stream stream(3, 0);
  for (std::uint64_t sweep = 0; sweep < 3; ++sweep) {
    std::uint64_t step = sweep * 6;
    for (const auto& block : blocks) {
      std::vector<std::vector<double>> v;
      for (std::size_t k = 0; k < block.size(); ++k) v.push_back(vector_of(source, stream, step++, 6));
      for (std::size_t a = 0; a < v.size(); ++a) {
        for (std::size_t i = 0; i < 6; ++i) {
          const bool inside = std::ranges::find(block, i) != block.end();
          EXPECT_TRUE(inside || v[a][i] == 0) << i;
        }
        for (std::size_t b = 0; b <= a; ++b) EXPECT_NEAR(dot(v[a], v[b]), a == b ? 1 : 0, 1e-13);
      }
    }
  }
}

/// Of a large model every block has its turn soon, and goes on with its frame in the next sweep.
TEST(BlockDirections, OfManyParametersTakeShortSweeps) {
  constexpr std::size_t size = 5000;
  const Directions made = make_directions("blocks", DirectionLaw::any, size, {},
                                          {{"small", 10}, {"tiny", 1}, {"middle", 989}, {"large", 4000}});
  auto source = std::get<BlockDirections>(made);
  const Stream stream(3, 0);
  const std::vector<std::size_t> first{0, 10, 11, 1000, 5000}, shares{1, 1, 19, 80};
  std::vector<std::vector<double>> of_small;
  for (std::uint64_t sweep = 0; sweep < 10; ++sweep) {
    std::uint64_t step = 101 * sweep;
    for (std::size_t b = 0; b < shares.size(); ++b)
      for (std::size_t i = 0; i < shares[b]; ++i, ++step) {
        const auto v = vector_of(source, stream, step, size);
        const auto begin = v.begin() + static_cast<std::ptrdiff_t>(first[b]),
                   end = v.begin() + static_cast<std::ptrdiff_t>(first[b + 1]);
        ASSERT_EQ(std::count(begin, end, 0.0) + static_cast<std::ptrdiff_t>(size) - (end - begin),
                  std::ranges::count(v, 0.0))
            << "step " << step << " leaves block " << b;
        if (b == 0) of_small.push_back(v);
      }
  }
  ASSERT_EQ(of_small.size(), 10u);
  for (std::size_t i = 0; i < 10; ++i)
    for (std::size_t j = 0; j <= i; ++j) EXPECT_NEAR(dot(of_small[i], of_small[j]), i == j ? 1 : 0, 1e-13);
}

TEST(BlockDirections, RefuseWhatIsNoPartition) {
  const auto refused = [](BlockDirections::Blocks blocks, const char* words) {
    try {
      const BlockDirections source(3, std::move(blocks));
      ADD_FAILURE() << "taken, though " << words;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr(words));
    }
  };
  refused({{0, 1}}, "2 of 3 parameters");
  refused({{0, 1}, {1, 2}}, "parameter 2 is in two blocks");
  refused({{0, 1, 7}}, "parameter 8");
  refused({{0, 1, 2}, {}}, "no parameters");
}

TEST(MixedDirections, TakeOneSourceForEachSweepByWeight) {
  constexpr std::size_t size = 4;
  MixedDirections mixed(size, {{3, FrameDirections(size)}, {1, AxisDirections{}}});
  const Stream stream(12, 0);
  constexpr int sweeps = 4000;
  int along_axes = 0;
  for (std::uint64_t sweep = 0; sweep < sweeps; ++sweep) {
    int axes = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto v = vector_of(mixed, stream, sweep * size + i, size);
      axes += std::ranges::count(v, 0.0) == size - 1 ? 1 : 0;
    }
    ASSERT_TRUE(axes == 0 || axes == size) << "a sweep of two kinds";
    along_axes += axes > 0 ? 1 : 0;
  }
  EXPECT_NEAR(along_axes, 0.25 * sweeps, 5.5 * std::sqrt(0.25 * 0.75 * sweeps));
}

// --- a function of stream and step alone

const std::vector<std::string> names{"mu", "tau", "theta.1", "theta.2", "theta.3"};

TEST(Directions, DoNotDependOnWhatWasAskedBefore) {
  for (const std::string name :
       {"sphere", "frames", "axes", "blocks", "blocks:mu+tau,theta", "frames*3+axes", "sphere+blocks*0.5"}) {
    SCOPED_TRACE(name);
    const auto ask = [](Directions& source, const Stream& stream, std::uint64_t step) {
      return std::visit([&](auto& s) { return vector_of(s, stream, step, 5); }, source);
    };
    const Directions made = make_directions(name, DirectionLaw::any, 5, names);
    const Stream one(1, 0), other(1, 1), third(2, 0);
    Directions forward = made, backward = made;
    std::vector<std::vector<double>> first;
    for (std::uint64_t step = 0; step < 40; ++step) first.push_back(ask(forward, one, step));
    for (std::uint64_t step = 40; step-- > 0;) EXPECT_EQ(ask(backward, one, step), first[step]) << step;
    for (std::uint64_t step = 0; step < 40; ++step) {
      Directions fresh = made;
      EXPECT_EQ(ask(fresh, one, step), first[step]) << step;
      // the same object for another chain or seed
      Directions for_other = made, for_third = made;
      EXPECT_EQ(ask(forward, other, step), ask(for_other, other, step)) << step;
      EXPECT_EQ(ask(forward, third, step), ask(for_third, third, step)) << step;
    }
  }
}

/// What a source says of where its entries are must be true: models do not look at the others.
TEST(Directions, KnowWhereTheyHaveEntries) {
  constexpr std::size_t dimension = 12;
  const std::vector<std::string> parameters{"a.1", "a.2", "a.3", "b", "c.1", "c.2",
                                            "c.3", "c.4", "d",   "e", "f",   "g"};
  const Stream stream(3, 0);
  for (const std::string name :
       {"sphere", "frames", "axes", "blocks", "blocks:a+c,b", "frames+axes+blocks"}) {
    Directions source = make_directions(name, DirectionLaw::any, dimension, parameters);
    std::size_t narrow = 0;
    for (std::uint64_t step = 0; step < 200; ++step) {
      std::vector<double> v(dimension, 7.0);
      const Support support = std::visit([&](auto& s) { return s.fill(stream, step, v); }, source);
      ASSERT_GT(support.count, 0u);
      ASSERT_LE(support.first + support.count, dimension);
      for (std::size_t i = 0; i < dimension; ++i) {
        const bool inside = i >= support.first && i < support.first + support.count;
        EXPECT_TRUE(inside || v[i] == 0) << name;
      }
      narrow += support.count < dimension ? 1 : 0;
    }
    EXPECT_TRUE(narrow == 200 || (name != "axes" && name != "blocks")) << name;
    EXPECT_TRUE(narrow == 0 || (name != "sphere" && name != "frames")) << name;
  }
}

TEST(SourcedRandom, KnowsTheNextStepsDirection) {
  FrameDirections frames(5);
  const Stream stream(8, 3);
  for (std::uint64_t step = 1; step < 12; ++step) {
    std::vector<double> next(5), then(5);
    SourcedRandom<FrameDirections>(stream, step, frames).next_direction(next);
    SourcedRandom<FrameDirections>(stream, step + 1, frames).direction(then);
    EXPECT_EQ(next, then);
  }
  std::vector<double> next(5), then(5);
  StepRandom(stream, 4).next_direction(next);
  StepRandom(stream, 5).direction(then);
  EXPECT_EQ(next, then);
}

/// Behind the type that holds any kernel and the one that holds any source the refusal is an exception.
TEST(Step, RefusesASourceThatDoesNotServeTheKernel) {
  struct Flat {
    static std::size_t dimension() { return 2; }
    static Jet jet(VectorView, VectorView, Order) { return {}; }
  };
  AnyTarget target{Flat{}};
  State state;
  state.position = {0, 0};
  Workspace workspace(2);
  Directions axes = AxisDirections{};
  const Stream stream(1, 0);
  for (const std::string sampler : {"fmala", "pc-fmala"})
    for (const auto tangent : {Tangent::kept, Tangent::fresh})
      EXPECT_THROW(step(make_kernel({.sampler = sampler, .options = {{"tangent", to_string(tangent)}}}),
                        state, target, Metric{}, stream, 1, axes, workspace),
                   UsageError);
  EXPECT_NO_THROW(
      step(make_kernel({.sampler = "newton-line"}), state, target, Metric{}, stream, 1, axes, workspace));
}

}  // namespace
}  // namespace onward
