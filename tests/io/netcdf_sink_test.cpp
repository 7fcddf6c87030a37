// Flat names become variables with shapes.

#include "onward/io/netcdf_sink.hpp"

#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "onward/run/kernel_chain.hpp"
#include "onward/target/callable.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParameterShapes, NumberedNamesAreOneVariable) {
  const auto shapes = parameter_shapes({"mu", "theta.1", "theta.2", "theta.3", "tau"});
  ASSERT_EQ(shapes.variables.size(), 3u);
  EXPECT_EQ(shapes.variables[1].name, "theta");
  EXPECT_THAT(shapes.variables[1].shape, ElementsAre(3));
  EXPECT_THAT(shapes.variables[2].shape, IsEmpty());
  EXPECT_THAT(shapes.order, ElementsAre(0, 1, 2, 3, 4));
}

TEST(ParameterShapes, EntriesOfAMatrixComeLastIndexFastest) {
  // As Stan lists them, first index fastest; and as classes of a regression are listed.
  const auto stan = parameter_shapes({"a.1.1", "a.2.1", "a.1.2", "a.2.2", "a.1.3", "a.2.3"});
  ASSERT_EQ(stan.variables.size(), 1u);
  EXPECT_THAT(stan.variables[0].shape, ElementsAre(2, 3));
  EXPECT_THAT(stan.order, ElementsAre(0, 2, 4, 1, 3, 5));
  const auto classes = parameter_shapes({"intercept.1", "age.1", "intercept.2", "age.2"}, {1, 1, 1, 1});
  ASSERT_EQ(classes.variables.size(), 2u);
  EXPECT_THAT(classes.variables[1].shape, ElementsAre(2));
  EXPECT_THAT(classes.order, ElementsAre(0, 2, 1, 3));
}

TEST(ParameterShapes, NamesThatFillNoBoxStaySingle) {
  const auto shapes = parameter_shapes({"a.1", "a.3"});
  ASSERT_EQ(shapes.variables.size(), 2u);
  EXPECT_THAT(shapes.variables[0].shape, IsEmpty());
  EXPECT_THAT(parameter_shapes({"edu.12"}, {0}).variables[0].shape, IsEmpty());
}

class NetcdfSinks : public onward::testing::Scratch {};

TEST_F(NetcdfSinks, FileHoldsTheDraws) {
  KernelChainMaker maker(
      target(3, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]); }));
  const RunSettings resolved =
      maker.resolve({.sampler = "rwm", .warmup = 50, .draws = 20, .thin = 2, .chains = 2, .seed = 1});
  const RunFolder folder = RunFolder::create(path("run"));
  NetcdfSink sink(folder, "normal", resolved, {.posterior = parameter_shapes(maker.names())});
  Hooks hooks;
  hooks.sinks = {&sink};
  const onward::Run run = run_chains(maker, resolved, hooks);
  sink.close();
  NetcdfReader reader(folder.netcdf());
  ASSERT_EQ(reader.chains(), 2u);
  ASSERT_EQ(reader.variables().size(), 1u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(reader.column(0, i), run.parameter(i));
  EXPECT_EQ(reader.attribute("model"), "normal");
}

}  // namespace
}  // namespace onward
