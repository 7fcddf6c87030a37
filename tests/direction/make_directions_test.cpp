// Sources of directions by their names, and the words of what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "onward/direction/directions.hpp"
#include "onward/error.hpp"
#include "onward/sampler/samplers.hpp"
#include "vector_of.hpp"

namespace onward {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> names{"mu", "tau", "theta.1", "theta.2", "theta.3"};

template <class Source>
bool holds(const char* name, DirectionLaw law) {
  return std::holds_alternative<Source>(make_directions(name, law, 5, names));
}

TEST(MakeDirections, KnowsEveryName) {
  EXPECT_TRUE(holds<FrameDirections>("auto", DirectionLaw::any));
  EXPECT_TRUE(holds<SphereDirections>("auto", DirectionLaw::exchangeable));
  EXPECT_TRUE(holds<SphereDirections>("auto", DirectionLaw::independent));
  EXPECT_TRUE(holds<SphereDirections>("sphere", DirectionLaw::independent));
  EXPECT_TRUE(holds<FrameDirections>("frames", DirectionLaw::any));
  EXPECT_TRUE(holds<OrthogonalPairs>("frames", DirectionLaw::exchangeable));
  EXPECT_TRUE(holds<AxisDirections>("axes", DirectionLaw::any));
  EXPECT_TRUE(holds<BlockDirections>("blocks", DirectionLaw::any));
  EXPECT_TRUE(holds<BlockDirections>("blocks:mu+theta,tau", DirectionLaw::any));
  EXPECT_TRUE(holds<MixedDirections>("frames*3+axes", DirectionLaw::any));
  EXPECT_EQ(resolve_directions("auto", DirectionLaw::any), "frames");
  EXPECT_EQ(resolve_directions("auto", DirectionLaw::independent), "sphere");
  EXPECT_EQ(resolve_directions("axes", DirectionLaw::any), "axes");
}

/// The parameters that move in each step of a sweep.
std::vector<std::set<std::size_t>> moved(const std::string& name,
                                         const std::vector<ParameterBlock>& blocks = {}) {
  Directions source = make_directions(name, DirectionLaw::any, 5, names, blocks);
  std::vector<std::set<std::size_t>> result;
  for (std::uint64_t step = 0; step < 5; ++step) {
    const auto v = std::visit([&](auto& s) { return vector_of(s, Stream(1, 0), step, 5); }, source);
    result.emplace_back();
    for (std::size_t i = 0; i < 5; ++i)
      if (v[i] != 0) result.back().insert(i);
  }
  return result;
}

TEST(MakeDirections, BlocksAreByNameOrAsListed) {
  using Set = std::set<std::size_t>;
  EXPECT_THAT(moved("blocks"), ElementsAre(Set{0}, Set{1}, Set{2, 3, 4}, Set{2, 3, 4}, Set{2, 3, 4}));
  EXPECT_THAT(moved("blocks:mu+tau,theta"),
              ElementsAre(Set{0, 1}, Set{0, 1}, Set{2, 3, 4}, Set{2, 3, 4}, Set{2, 3, 4}));
  // what is not listed is the last block
  EXPECT_THAT(moved("blocks:tau+theta.2"),
              ElementsAre(Set{1, 3}, Set{1, 3}, Set{0, 2, 4}, Set{0, 2, 4}, Set{0, 2, 4}));
  EXPECT_THAT(moved("blocks:mu+tau+theta"), Each(Set{0, 1, 2, 3, 4}));
}

TEST(MakeDirections, UnitsAreTheirWeightsAndTheirBias) {
  using Set = std::set<std::size_t>;
  // Two units with a weight and a bias each, and sigma; a unit with two weights, and two with one, no biases.
  EXPECT_THAT(moved("units", {{"0", 4, 2, true}, {"sigma", 1}}),
              ElementsAre(Set{0, 2}, Set{0, 2}, Set{1, 3}, Set{1, 3}, Set{4}));
  EXPECT_THAT(moved("units", {{"0", 2, 1, false}, {"1", 3, 3, false}}),
              ElementsAre(Set{0, 1}, Set{0, 1}, Set{2}, Set{3}, Set{4}));
}

TEST(MakeDirections, MixturesOfLargeModelsChangeOften) {
  constexpr std::size_t size = 2000;
  Directions source = make_directions("sphere+axes", DirectionLaw::any, size, {}, {{"all", size}});
  const Stream stream(3, 0);
  std::vector<double> v(size);
  std::size_t axes = 0, changes = 0;
  bool before = false;
  for (std::uint64_t step = 0; step < 1000; ++step) {
    std::visit([&](auto& s) { s.fill(stream, step, v); }, source);
    const bool axis = std::count(v.begin(), v.end(), 0.0) == size - 1;
    axes += axis ? 1 : 0;
    if (axis != before) {
      EXPECT_EQ(step % 10, 0u);
      ++changes;
    }
    before = axis;
  }
  EXPECT_GT(axes, 300u);
  EXPECT_LT(axes, 700u);
  EXPECT_GT(changes, 20u);
}

TEST(MakeDirections, AModelsOwnBlocksComeBeforeNames) {
  using Set = std::set<std::size_t>;
  const std::vector<ParameterBlock> own{{"0", 2}, {"2", 1}, {"sigma", 2}};
  EXPECT_THAT(moved("blocks", own), ElementsAre(Set{0, 1}, Set{0, 1}, Set{2}, Set{3, 4}, Set{3, 4}));
  EXPECT_THAT(moved("blocks:sigma,0", own), ElementsAre(Set{3, 4}, Set{3, 4}, Set{0, 1}, Set{0, 1}, Set{2}));
  EXPECT_THAT(moved("blocks:2+sigma", own),
              ElementsAre(Set{2, 3, 4}, Set{2, 3, 4}, Set{2, 3, 4}, Set{0, 1}, Set{0, 1}));
}

void refused(const std::string& name, DirectionLaw law, const std::vector<std::string>& pieces,
             const std::vector<std::string>& parameter_names = names,
             const std::vector<ParameterBlock>& blocks = {}) {
  SCOPED_TRACE(name);
  try {
    make_directions(name, law, 5, parameter_names, blocks);
    ADD_FAILURE() << "it was taken";
  } catch (const UsageError& e) {
    for (const auto& piece : pieces) EXPECT_THAT(e.what(), HasSubstr(piece));
  }
}

TEST(MakeDirections, SaysWhatIsWrongWithAName) {
  const auto law = DirectionLaw::any;
  refused("frame", law, {"`directions` 'frame'", "Did you mean frames?", "sphere, frames, axes, blocks"});
  refused("", law, {"`directions` ''"});
  refused("frames*x+axes", law, {"'x' is no weight", "frames*3+axes"});
  refused("frames*0+axes", law, {"'0' is no weight"});
  refused("frames*-1+axes", law, {"'-1' is no weight"});
  refused("frames*inf+axes", law, {"'inf' is no weight"});
  refused("frames*+axes", law, {"'' is no weight"});
  refused("frames*2+axis", law, {"'axis'", "Did you mean axes?"});
  refused("frames+", law, {"''"});
  refused("blocks:my", law, {"no parameter 'my'", "Did you mean mu?"});
  refused("blocks:mu+mu.1", law, {"no parameter 'mu.1'"});
  refused("blocks:mu,", law, {"no parameter ''"});
  // a simplex has one entry more than it is sampled with
  refused("blocks", law, {"each of the 5 sampled parameters", "reports 6", "frames"},
          {"p.1", "p.2", "p.3", "p.4", "p.5", "p.6"});
  refused("units", law, {"`directions` units: the model has none", "networks"});
  refused("units", law, {"the model has none"}, {}, {{"0", 2}, {"2", 3}});
  refused("blocks:1", law, {"no block '1'", "Blocks: 0, 2"}, {}, {{"0", 2}, {"2", 3}});
  refused("blocks:0+2,0", law, {"'0' is listed twice"}, {}, {{"0", 2}, {"2", 3}});
}

TEST(MakeDirections, RefusesWhatWouldNotBeExact) {
  for (const std::string name : {"frames", "axes", "blocks", "frames*3+axes"})
    refused(name, needed_law(make_kernel({.sampler = "fmala"})),
            {"`directions` " + name, "not exact", "sphere", "`tangent` fresh with frames", "line sampler"});
  for (const std::string name : {"axes", "blocks", "sphere+axes"})
    refused(name, needed_law(make_kernel({.sampler = "pc-fmala", .options = {{"tangent", "fresh"}}})),
            {"`directions` " + name, "not exact", "exchangeable", "sphere or frames"});
  EXPECT_NO_THROW(make_directions(
      "frames", needed_law(make_kernel({.sampler = "fmala", .options = {{"tangent", "fresh"}}})), 5, names));
}

}  // namespace
}  // namespace onward
