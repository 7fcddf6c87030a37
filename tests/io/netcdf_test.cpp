// Draws in netCDF files: what is written comes back, to the bit, by our reader and by xarray; also after
// kills.

#include "onward/io/netcdf.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "io/by_xarray.hpp"
#include "io/scratch.hpp"
#include "onward/version.hpp"

namespace onward {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using Kind = NamedStatistic::Kind;

/// mu, a 2 x 3 matrix given by columns with named entries, and a vector.
NetcdfLayout small_layout(std::size_t chains = 2) {
  NetcdfLayout layout;
  layout.chains = chains;
  layout.posterior = {{"mu", {}},
                      {"beta", {2, 3}, {"class", "column"}, {{"no", "yes"}, {"one", "age", "größe"}}, true},
                      {"theta", {4}}};
  layout.statistics = {{"diverging", Kind::flag}, {"n_steps", Kind::count}, {"energy"}};
  layout.attributes = {{"model", "toy"}};
  return layout;
}

/// Entry k of a draw; no two are equal.
double value(std::size_t chain, std::size_t draw, std::size_t k) {
  return std::sin(static_cast<double>(1 + k + 100 * draw + 100'000 * chain));
}

void put_draw(NetcdfWriter& writer, std::size_t chain, std::size_t draw, std::size_t parameters = 11) {
  std::vector<double> values(parameters);
  for (std::size_t k = 0; k < parameters; ++k) values[k] = value(chain, draw, k);
  const double statistics[] = {static_cast<double>(draw % 2), static_cast<double>(draw), 0.25};
  writer.draw(chain, {.lp = -1.5 * static_cast<double>(draw),
                      .acceptance_rate = 0.75,
                      .step_size = 0.5,
                      .parameters = values,
                      .unconstrained = {},
                      .log_likelihood = {},
                      .statistics = statistics});
}

/// Draws first to last of both chains.
void put_all(NetcdfWriter& writer, std::size_t first, std::size_t last) {
  for (std::size_t chain = 0; chain < 2; ++chain)
    for (std::size_t draw = first; draw < last; ++draw) put_draw(writer, chain, draw);
}

class NetcdfFile : public testing::Scratch {
 protected:
  void expect_draws(const std::filesystem::path& file, std::size_t draws) const {
    NetcdfReader reader(file);
    ASSERT_EQ(reader.draws(), draws);
    ASSERT_EQ(reader.variables().size(), 3u);
    const std::size_t flat[] = {1, 3, 5, 2, 4, 6};  // where beta's entries by rows are in the list by columns
    for (std::size_t chain = 0; chain < 2; ++chain)
      for (std::size_t draw = 0; draw < draws; ++draw) {
        ASSERT_EQ(reader.column(0, 0)[chain][draw], value(chain, draw, 0));
        for (std::size_t k = 0; k < 6; ++k)
          ASSERT_EQ(reader.column(1, k)[chain][draw], value(chain, draw, flat[k]));
        for (std::size_t k = 0; k < 4; ++k)
          ASSERT_EQ(reader.column(2, k)[chain][draw], value(chain, draw, 7 + k));
      }
  }
};

TEST_F(NetcdfFile, XarrayReadsWhatWasWritten) {
  NetcdfLayout layout = small_layout();
  layout.unconstrained_posterior = {{"u", {2}}};
  layout.log_likelihood = {{"y", {3}, {"row"}}};
  NetcdfWriter writer(path("draws.nc"), layout);
  const std::vector<double> u{1, 2}, y{-1, -2, -3}, data{1, 2, 3, 4, 5, 6};
  for (std::size_t chain = 0; chain < 2; ++chain)
    for (std::size_t draw = 0; draw < 5; ++draw) {
      std::vector<double> values(11);
      for (std::size_t k = 0; k < 11; ++k) values[k] = value(chain, draw, k);
      const double statistics[] = {1, 10, -0.5};
      writer.draw(chain, {-3, 0.9, 0.1, values, u, y, statistics});
    }
  writer.constant("observed_data", {"y", {3}, {"row"}}, y);
  writer.constant("constant_data", {"x", {3, 2}, {"row", "column"}, {{}, {"a", "b"}}}, data);
  writer.constant("constant_data", {"rows", {}}, std::vector<double>{3});
  writer.close();

  const json read = testing::by_xarray(path("draws.nc"));
  const json& posterior = read.at("posterior");
  const json& attributes = posterior.at("attributes");
  EXPECT_EQ(attributes.at("creation_library"), "onward");
  EXPECT_EQ(attributes.at("inference_library"), "onward");
  EXPECT_EQ(attributes.at("inference_library_version"), version);
  EXPECT_EQ(attributes.at("creation_library_version"), version);
  EXPECT_EQ(attributes.at("created_at").get<std::string>().size(), 25u);
  EXPECT_EQ(attributes.at("model"), "toy");
  const json& beta = posterior.at("variables").at("beta");
  EXPECT_EQ(beta.at("dims"), json({"chain", "draw", "class", "column"}));
  EXPECT_EQ(beta.at("shape"), json({2, 5, 2, 3}));
  EXPECT_EQ(beta.at("bytes"), 8);
  EXPECT_EQ(beta.at("values").at(1), value(0, 0, 3));   // [0, 1] is third in the list by columns
  EXPECT_EQ(beta.at("values").at(59), value(1, 4, 6));  // the last entry of all
  EXPECT_EQ(posterior.at("coordinates").at("column"), json({"one", "age", "größe"}));
  EXPECT_EQ(posterior.at("coordinates").at("theta_dim_0"), json({0, 1, 2, 3}));
  EXPECT_EQ(posterior.at("coordinates").at("chain"), json({0, 1}));
  const json& statistics = read.at("sample_stats").at("variables");
  EXPECT_EQ(statistics.at("lp").at("values").at(9), -3);
  EXPECT_EQ(statistics.at("acceptance_rate").at("values").at(0), 0.9);
  EXPECT_EQ(statistics.at("step_size").at("dims"), json({"chain", "draw"}));
  EXPECT_EQ(statistics.at("diverging").at("kind"), "flag");
  EXPECT_EQ(statistics.at("n_steps").at("kind"), "integer");
  EXPECT_EQ(statistics.at("n_steps").at("values").at(9), 10);
  EXPECT_EQ(statistics.at("energy").at("kind"), "real");
  EXPECT_EQ(read.at("unconstrained_posterior").at("variables").at("u").at("values").at(19), 2);
  EXPECT_EQ(read.at("log_likelihood").at("variables").at("y").at("dims"), json({"chain", "draw", "row"}));
  EXPECT_EQ(read.at("observed_data").at("variables").at("y").at("values"), json({-1.0, -2.0, -3.0}));
  EXPECT_EQ(read.at("constant_data").at("variables").at("x").at("values").at(5), 6);
  EXPECT_EQ(read.at("constant_data").at("coordinates").at("column"), json({"a", "b"}));
  EXPECT_EQ(read.at("constant_data").at("variables").at("rows").at("values"), json({3.0}));
  EXPECT_FALSE(std::filesystem::exists(path("draws.nc.chain-1")));
  EXPECT_FALSE(std::filesystem::exists(path("draws.nc.part")));
  expect_draws(path("draws.nc"), 5);
}

TEST_F(NetcdfFile, EntriesAreNamedAsArvizDoes) {
  NetcdfWriter writer(path("a.nc"), small_layout());
  put_all(writer, 0, 3);
  writer.close();
  const NetcdfReader reader(path("a.nc"));
  EXPECT_EQ(reader.entry_name(0, 0), "mu");
  EXPECT_EQ(reader.entry_name(1, 4), "beta[yes, age]");
  EXPECT_EQ(reader.entry_name(2, 3), "theta[3]");
  EXPECT_EQ(reader.attribute("model"), "toy");
  EXPECT_EQ(reader.attribute("absent"), std::nullopt);
}

/// Shapes for which a variable, a draw or both need several chunks and panels.
TEST_F(NetcdfFile, AnyShapeComesBack) {
  struct Case {
    std::vector<std::size_t> shape;
    std::size_t draws;
    int deflate;
    bool single;
  };
  for (const Case& c :
       {Case{{3, 700, 5}, 300, 1, false}, Case{{200'003}, 3, 1, false}, Case{{200'003}, 2, 0, true},
        Case{{}, 20'000, 1, false}, Case{{2}, 17'000, 6, true}, Case{{3, 1}, 0, 1, false}}) {
    NetcdfLayout layout;
    layout.chains = 2;
    layout.posterior = {{"x", c.shape}, {"empty", {0, 2}}, {"last", {}}};
    layout.statistics = small_layout().statistics;
    const auto file = path("shape.nc");
    const std::size_t size = layout.posterior[0].size() + 1;
    NetcdfWriter writer(file, layout, {.single_precision = c.single, .deflate = c.deflate, .threads = 2},
                        NetcdfWriter::IfExists::overwrite);
    std::vector<std::thread> threads;  // chains draw at the same time
    for (std::size_t chain = 0; chain < 2; ++chain)
      threads.emplace_back([&, chain] {
        for (std::size_t draw = 0; draw < c.draws; ++draw) put_draw(writer, chain, draw, size);
      });
    for (auto& thread : threads) thread.join();
    writer.close();
    NetcdfReader reader(file);
    ASSERT_EQ(reader.variables().size(), 2u);
    EXPECT_EQ(reader.variables()[0].shape, c.shape);
    const auto stored = [&](double x) { return c.single ? static_cast<double>(static_cast<float>(x)) : x; };
    for (std::size_t k = 0; k < size; k += 1 + size / 50) {
      const auto column = k + 1 < size ? reader.column(0, k) : reader.column(1, 0);
      for (std::size_t chain = 0; chain < 2; ++chain) {
        ASSERT_EQ(column[chain].size(), c.draws);
        for (std::size_t draw = 0; draw < c.draws; ++draw)
          ASSERT_EQ(column[chain][draw], stored(value(chain, draw, k))) << k << " " << chain << " " << draw;
      }
    }
  }
}

TEST_F(NetcdfFile, DrawsThatRepeatAreStoredOnce) {
  NetcdfLayout layout;
  layout.posterior = {{"x", {100}}};
  NetcdfWriter writer(path("a.nc"), layout);
  std::vector<double> x(100);
  for (std::size_t draw = 0; draw < 5000; ++draw) {
    if (draw % 5 == 0)
      for (std::size_t k = 0; k < 100; ++k) x[k] = value(0, draw, k);
    writer.draw(0, {.parameters = x});
  }
  writer.close();
  EXPECT_LT(std::filesystem::file_size(path("a.nc")), 5000 * 100 * 8 / 3);
  EXPECT_EQ(NetcdfReader(path("a.nc")).column(0, 99)[0][4321], value(0, 4320, 99));
}

TEST_F(NetcdfFile, ShorterChainsEndInNan) {
  NetcdfWriter writer(path("a.nc"), small_layout());
  for (std::size_t draw = 0; draw < 7; ++draw) put_draw(writer, 0, draw);
  for (std::size_t draw = 0; draw < 4; ++draw) put_draw(writer, 1, draw);
  writer.close();
  NetcdfReader reader(path("a.nc"));
  EXPECT_EQ(reader.draws(), 7u);
  EXPECT_EQ(reader.draws(1), 4u);
  EXPECT_EQ(reader.column(2, 1)[1].size(), 4u);
  const json read = testing::by_xarray(path("a.nc"));
  EXPECT_EQ(read.at("posterior").at("variables").at("theta").at("nan"), 3 * 4);
  EXPECT_EQ(read.at("sample_stats").at("variables").at("diverging").at("nan"), 3);
}

TEST_F(NetcdfFile, GoesOnAfterAKill) {
  const pid_t child = ::fork();
  if (child == 0) {
    NetcdfWriter writer(path("a.nc"), small_layout(), {.buffer_bytes = 1000});
    put_all(writer, 0, 20);
    writer.sync();
    put_all(writer, 20, 33);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(std::filesystem::exists(path("a.nc")));
  std::ofstream(path("a.nc.chain-2"), std::ios::app) << "half a row";
  const std::size_t kept[] = {20, 18};
  auto writer = NetcdfWriter::reopen(path("a.nc"), small_layout(), {}, kept);
  for (std::size_t draw = 20; draw < 40; ++draw) put_draw(writer, 0, draw);
  for (std::size_t draw = 18; draw < 40; ++draw) put_draw(writer, 1, draw);
  writer.close();
  expect_draws(path("a.nc"), 40);
}

TEST_F(NetcdfFile, AFinishedFileGoesOnToo) {
  for (const bool single : {false, true}) {
    const NetcdfOptions options{.single_precision = single};
    const auto file = path(single ? "single.nc" : "double.nc"), whole = path(single ? "s.nc" : "d.nc");
    {
      NetcdfWriter writer(file, small_layout(), options);
      put_all(writer, 0, 30);
      writer.close();
    }
    const std::size_t kept[] = {25, 25};
    auto writer = NetcdfWriter::reopen(file, small_layout(), options, kept);
    put_all(writer, 25, 50);
    writer.close();
    NetcdfWriter once(whole, small_layout(), options);
    put_all(once, 0, 50);
    once.close();
    json cut = testing::by_xarray(file), straight = testing::by_xarray(whole);
    for (auto* groups : {&cut, &straight})
      for (auto& group : *groups) group.at("attributes").erase("created_at");
    EXPECT_EQ(cut, straight);
  }
}

TEST_F(NetcdfFile, WhatCannotGoOnIsRefused) {
  {
    NetcdfWriter writer(path("a.nc"), small_layout());
    put_all(writer, 0, 5);
  }
  const std::size_t more[] = {6, 5}, same[] = {5, 5}, one[] = {5};
  EXPECT_THAT(error_of([&] { NetcdfWriter::reopen(path("a.nc"), small_layout(), {}, more); }),
              HasSubstr("a.nc.chain-1 has 5 draws where 6 are needed"));
  auto other = small_layout();
  other.posterior[2].shape = {5};
  EXPECT_THAT(error_of([&] { NetcdfWriter::reopen(path("a.nc"), other, {}, same); }),
              HasSubstr("a.nc.chain-1 was written for other parameters"));
  EXPECT_THAT(error_of([&] { NetcdfWriter::reopen(path("a.nc"), small_layout(), {}, one); }),
              HasSubstr("draws of 1 chains"));
  EXPECT_THAT(error_of([&] { NetcdfWriter::reopen(path("b.nc"), small_layout(), {}, same); }),
              HasSubstr("b.nc.chain-1: No such file"));
  EXPECT_THAT(error_of([&] { NetcdfWriter(path("a.nc"), small_layout()); }),
              HasSubstr("a.nc.chain-1: File exists"));
  auto writer = NetcdfWriter::reopen(path("a.nc"), small_layout(), {}, same);
  writer.close();
  EXPECT_THAT(error_of([&] { NetcdfWriter::reopen(path("a.nc"), small_layout(), {}, more); }),
              HasSubstr("a.nc has 5 draws of chain 1 where 6 are needed"));
  EXPECT_THAT(error_of([&] { NetcdfWriter::reopen(path("a.nc"), other, {}, same); }),
              HasSubstr("a.nc was written for other parameters"));
}

TEST_F(NetcdfFile, LayoutsThatCannotBeAreRefusedAtOnce) {
  const auto refused = [&](NamedShape first, NamedShape second) {
    NetcdfLayout layout;
    layout.posterior = {std::move(first), std::move(second)};
    return error_of([&] { NetcdfWriter(path("a.nc"), layout); });
  };
  EXPECT_THAT(refused({"x", {2}}, {"x", {}}), HasSubstr("'x' and 'x' have the same name"));
  EXPECT_THAT(refused({"x", {2}, {"d"}}, {"y", {3}, {"d"}}),
              HasSubstr("the dimension 'd' of 'y' has 3 entries"));
  EXPECT_THAT(refused({"x", {2}, {"y"}}, {"y", {}}),
              HasSubstr("'y' is the name of a parameter and of a dim"));
  EXPECT_THAT(refused({"x", {1}, {"draw"}}, {"y", {}}), HasSubstr("the dimension 'draw' of 'x'"));
  EXPECT_THAT(refused({"x", {2}, {"a", "b"}}, {"y", {}}), HasSubstr("'x' has 1 dimensions and names for 2"));
  EXPECT_THAT(refused({"x", {2}, {}, {{"a"}}}, {"y", {}}),
              HasSubstr("dimension 0 of 'x' has 2 entries and 1 names"));
  EXPECT_TRUE(std::filesystem::is_empty(path("")));
}

TEST_F(NetcdfFile, ConstantsThatCannotBeAreRefusedAtOnce) {
  NetcdfWriter writer(path("a.nc"), small_layout());
  const std::vector<double> two{1, 2};
  writer.constant("constant_data", {"x", {2}}, two);
  const auto refused = [&](const char* group, const NamedShape& variable) {
    return error_of([&] { writer.constant(group, variable, two); });
  };
  EXPECT_THAT(refused("constant_data", {"x", {2}}), HasSubstr("'x' and 'x' have the same name"));
  EXPECT_THAT(refused("posterior", {"y", {2}}), HasSubstr("the group 'posterior' is not for it"));
  EXPECT_THAT(refused("constant_data", {"y", {3}}), HasSubstr("2 values for 'y', which has 3"));
  put_all(writer, 0, 2);
  writer.close();
  expect_draws(path("a.nc"), 2);
}

TEST_F(NetcdfFile, ConstantsMayComeInPartsAndInNarrowTypes) {
  NetcdfWriter writer(path("a.nc"), small_layout());
  // More than a chunk holds, in parts that do not fit its rows.
  constexpr std::size_t rows = 70'001, columns = 3;
  const auto in_parts = [](const auto& take) {
    std::vector<double> part;
    for (std::size_t i = 0; i < rows * columns; ++i) {
      part.push_back(static_cast<double>(i % 251));
      if (part.size() < 1000 && i + 1 < rows * columns) continue;
      take(part);
      part.clear();
    }
  };
  const NamedShape shape{"x", {rows, columns}, {"row", "column"}, {{}, {"a", "b", "c"}}};
  writer.constant("constant_data", shape, NumberType::uint8, in_parts);
  NamedShape other = shape;
  other.name = "as_floats";
  writer.constant("constant_data", other, NumberType::float32, in_parts);
  other.name = "too_few";
  other.shape[0] += 1;
  other.dims = {};
  EXPECT_THAT(error_of([&] { writer.constant("constant_data", other, NumberType::float64, in_parts); }),
              HasSubstr("210003 values for 'too_few', which has 210006"));
  put_all(writer, 0, 2);
  writer.close();
  const json variables = testing::by_xarray(path("a.nc")).at("constant_data").at("variables");
  EXPECT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables.at("x").at("bytes"), 1);
  EXPECT_EQ(variables.at("x").at("kind"), "integer");
  EXPECT_EQ(variables.at("as_floats").at("bytes"), 4);
  for (const char* name : {"x", "as_floats"}) {
    EXPECT_EQ(variables.at(name).at("shape"), (json{rows, columns}));
    const auto values = variables.at(name).at("values").get<std::vector<double>>();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<double>(i % 251)) << i;
    EXPECT_EQ(variables.at(name).at("nan"), 0);
    // The script gives 2,000 values and the sum of all.
    double sum = 0;
    for (std::size_t i = 0; i < rows * columns; ++i) sum += static_cast<double>(i % 251);
    EXPECT_EQ(variables.at(name).at("sum"), sum);
  }
}

TEST_F(NetcdfFile, NamesThatNetcdfDoesNotTakeAreAltered) {
  NetcdfLayout layout;
  layout.posterior = {{"(Intercept)", {}}, {"a/b", {}}, {"sd(g)x:z", {}}};
  NetcdfWriter writer(path("a.nc"), layout);
  writer.draw(0, {.parameters = std::vector<double>{1, 2, 3}});
  writer.close();
  const json read = testing::by_xarray(path("a.nc")).at("posterior").at("variables");
  EXPECT_EQ(read.at("_(Intercept)").at("values").at(0), 1);
  EXPECT_EQ(read.at("a|b").at("values").at(0), 2);
  EXPECT_EQ(read.at("sd(g)x:z").at("values").at(0), 3);
}

TEST_F(NetcdfFile, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of([&] { NetcdfWriter(path("none") / "a.nc", small_layout()); }),
              HasSubstr("a.nc.chain-1: No such file or directory. Check the name"));
}

/// A disk that fills up, while draws come or when the file is made: the draws that were written stay.
TEST_F(NetcdfFile, AFullDiskIsAnErrorAndLosesNothing) {
  NetcdfWriter writer(path("a.nc"), small_layout());
  put_all(writer, 0, 500);
  writer.sync();
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  for (const rlim_t size : {100, 5000, 12'000, 40'000}) {
    const rlimit limit{size, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto message = error_of([&] { writer.close(); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_THAT(message, HasSubstr("a.nc.part: File too large. Raise the limit")) << size;
    EXPECT_FALSE(std::filesystem::exists(path("a.nc.part")));
  }
  const rlimit limit{60'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(error_of([&] {
                for (std::size_t draw = 500; draw < 1000; ++draw) {
                  put_draw(writer, 0, draw);
                  writer.flush();
                }
              }),
              HasSubstr("a.nc.chain-1: File too large"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  writer.close();
  NetcdfReader reader(path("a.nc"));
  EXPECT_EQ(reader.draws(1), 500u);
  EXPECT_EQ(reader.column(2, 0)[1][499], value(1, 499, 7));
}

TEST_F(NetcdfFile, WhatIsNoFileOfDrawsIsRefusedByName) {
  const auto refusal = [&](const std::string& name) { return error_of([&] { NetcdfReader(path(name)); }); };
  EXPECT_THAT(refusal("none.nc"), HasSubstr("none.nc: No such file"));
  put("text.nc", "not a file of draws");
  EXPECT_THAT(refusal("text.nc"), HasSubstr("text.nc: not a netCDF-4 file"));
  put("empty.nc", "");
  EXPECT_THAT(refusal("empty.nc"), HasSubstr("empty.nc: not a netCDF-4 file"));
  NetcdfWriter writer(path("a.nc"), small_layout());
  put_all(writer, 0, 100);
  writer.close();
  const std::string bytes = get(path("a.nc"));
  for (const std::size_t size : {std::size_t{100}, bytes.size() / 2, bytes.size() - 10}) {
    put("cut.nc", bytes.substr(0, size));
    EXPECT_THAT(refusal("cut.nc"), HasSubstr("cut.nc: cannot be read")) << size;
  }
  EXPECT_THAT(error_of([&] { NetcdfReader(path("a.nc"), "prior"); }), HasSubstr("there is no group 'prior'"));
  NetcdfWriter constants(path("b.nc"), small_layout());
  constants.constant("constant_data", {"x", {2}}, std::vector<double>{1, 2});
  constants.close();
  EXPECT_THAT(error_of([&] { NetcdfReader(path("b.nc"), "constant_data"); }),
              HasSubstr("lacks the dimension 'chain' or 'draw'"));
}

}  // namespace
}  // namespace onward
