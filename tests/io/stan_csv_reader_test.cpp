// Reading CSV files of draws: those of CmdStan, those that were cut, and those that are wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "io/scratch.hpp"
#include "onward/error.hpp"
#include "onward/io/stan_csv.hpp"

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class StanCsvReader : public testing::Scratch {};

const std::string cmdstan =
    "# stan_version_major = 2\n"
    "# stan_version_minor = 29\n"
    "# model = eight_schools_model\n"
    "# start_datetime = 2022-03-01 10:00:00 UTC\n"
    "# method = sample (Default)\n"
    "#   sample\n"
    "#     num_samples = 4\n"
    "#     num_warmup = 6\n"
    "#     save_warmup = 1\n"
    "#     thin = 2\n"
    "#     adapt\n"
    "#       engaged = 1 (Default)\n"
    "#       gamma = 0.050000000000000003 (Default)\n"
    "#     algorithm = hmc (Default)\n"
    "#       hmc\n"
    "#         engine = nuts (Default)\n"
    "#         metric_file =  (Default)\n"
    "# id = 1\n"
    "# random\n"
    "#   seed = 12345\n"
    "# output\n"
    "#   file = output.csv (Default)\n"
    "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,theta.1.1\n"
    "-7,1,0.5,2,3,0,8,0.25,-1\n"
    "-7.5,0.9,0.5,2,3,0,8,0.5,+1.5e-1\n"
    "\n"
    "-8,1,0.5,2,3,0,8,0.75,-inf\n"
    "# Adaptation terminated\n"
    "# Step size = 0.745231\n"
    "# Diagonal elements of inverse mass matrix:\n"
    "# 0.5, 1.25\n"
    "-9,1,0.745,2,3,0,8,1,nan\n"
    "-9.5,1,0.745,2,3,1,8,2, 7\n"
    "# \n"
    "#  Elapsed Time: 0.018 seconds (Warm-up)\n"
    "#                0.02 seconds (Sampling)\n"
    "#                0.038 seconds (Total)\n"
    "# \n";

TEST_F(StanCsvReader, ReadsCmdStansOwn) {
  std::string windows;
  for (char c : cmdstan) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const auto& text : {cmdstan, windows}) {
    const StanCsv csv = read_stan_csv(put("output.csv", text));
    EXPECT_EQ(csv.rows(), 5u);
    EXPECT_EQ(csv.warmup_rows, 3u);
    EXPECT_EQ(csv.draws(), 2u);
    EXPECT_THAT(csv.column(*csv.find_column("mu")), ElementsAre(1, 2));
    EXPECT_EQ(csv.columns.back(), "theta.1.1");
    EXPECT_EQ(csv.values[1 * 9 + 8], 0.15);
    EXPECT_EQ(csv.values[2 * 9 + 8], -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(csv.values[3 * 9 + 8]));
    EXPECT_EQ(csv.step_size, 0.745231);
    EXPECT_THAT(csv.inverse_metric, ElementsAre(0.5, 1.25));
    EXPECT_EQ(csv.setting("method"), "sample");
    EXPECT_EQ(csv.setting("gamma"), "0.050000000000000003");
    EXPECT_EQ(csv.setting("metric_file"), "");
    EXPECT_EQ(csv.setting("seed"), "12345");
    EXPECT_FALSE(csv.incomplete_last_line);
  }
}

TEST_F(StanCsvReader, WarmupIsCountedAlsoWithoutItsEnd) {
  // No adaptation block (it was switched off): num_warmup / thin rows. Cut short: all there is.
  std::string text = cmdstan;
  const auto begin = text.find("# Adaptation"), end = text.find("-9,1");
  text.erase(begin, end - begin);
  EXPECT_EQ(read_stan_csv(put("a.csv", text)).warmup_rows, 3u);
  const StanCsv cut = read_stan_csv(put("b.csv", text.substr(0, text.find("-8,1"))));
  EXPECT_EQ(cut.warmup_rows, 2u);
  EXPECT_EQ(cut.draws(), 0u);
  std::string word = cmdstan;
  word.replace(word.find("save_warmup = 1"), 15, "save_warmup = false");
  EXPECT_EQ(read_stan_csv(put("c.csv", word)).warmup_rows, 0u);
}

TEST_F(StanCsvReader, ReadsADenseMetric) {
  const StanCsv csv = read_stan_csv(put("a.csv",
                                        "lp__,x,y\n# Adaptation terminated\n# Step size = 1\n"
                                        "# Elements of inverse mass matrix:\n# 1, 2\n# 2, 5\n-1,2,3\n"));
  EXPECT_THAT(csv.inverse_metric, ElementsAre(1, 2, 2, 5));
}

TEST_F(StanCsvReader, EveryTruncationIsReadOrExplained) {
  const auto names_end = cmdstan.find("theta.1.1\n") + 10;
  std::size_t dropped = 0;
  for (std::size_t size = 0; size <= cmdstan.size(); ++size) {
    const auto file = put("cut.csv", cmdstan.substr(0, size));
    if (size < names_end) {
      EXPECT_THAT(error_of([&] { read_stan_csv(file); }), HasSubstr("column names")) << size;
    } else {
      const StanCsv csv = read_stan_csv(file);
      EXPECT_EQ(csv.values.size(), csv.rows() * 9);
      EXPECT_LE(csv.rows(), 5u);
      EXPECT_EQ(csv.step_size.value_or(0.745231), 0.745231);
      dropped += csv.incomplete_last_line;
    }
  }
  EXPECT_GT(dropped, 50u);  // the bytes of five rows
  const StanCsv csv = read_stan_csv(put("cut.csv", cmdstan.substr(0, cmdstan.find(", 7\n") + 2)));
  EXPECT_TRUE(csv.incomplete_last_line);
  EXPECT_EQ(csv.rows(), 4u);
}

TEST_F(StanCsvReader, ErrorsNameFileAndLine) {
  const auto error = [&](const std::string& text) {
    const auto file = put("bad.csv", text);
    return error_of([&] { read_stan_csv(file); });
  };
  EXPECT_THAT(error("# x = 1\nlp__,mu\n-1,2\n-1,abc\n"),
              HasSubstr("bad.csv:4: 'abc' in column mu is not a number"));
  EXPECT_THAT(error("lp__,mu\n-1,2,3\n"), HasSubstr("bad.csv:2: 3 numbers where the header names 2 columns"));
  EXPECT_THAT(error("lp__,mu\n-1\n"), HasSubstr("bad.csv:2: 1 numbers"));
  EXPECT_THAT(error("lp__,mu\n-1,\n"), HasSubstr("bad.csv:2: '' in column mu"));
  EXPECT_THAT(error("lp__,mu\n-1,1.5x\n"), HasSubstr("'1.5x'"));
  EXPECT_THAT(error("lp__,mu\n-1,2\n1,2,x\n"), HasSubstr("bad.csv:3: 'x' in column 3"));
  EXPECT_THAT(error("lp__,,mu\n"), HasSubstr("bad.csv:1: column 2 has no name"));
  EXPECT_THAT(error("1,2\n3,4\n"), HasSubstr("bad.csv:1: '1' where column names are expected"));
  EXPECT_THAT(error("# Step size = soon\nlp__,mu\n"), HasSubstr("bad.csv:1: 'soon' is not a number"));
  EXPECT_THAT(error(""), HasSubstr("bad.csv: no line with column names"));
  EXPECT_THAT(error_of([&] { read_stan_csv(path("none.csv")); }),
              HasSubstr("none.csv: No such file or directory. Check the name"));
  EXPECT_THAT(error_of([&] { read_stan_csv(path("")); }), HasSubstr("Is a directory"));
}

TEST_F(StanCsvReader, NumbersOutOfRangeSaturate) {
  const StanCsv csv = read_stan_csv(put("a.csv", "lp__,x,y\n1e400,-1e400,1e-400\n"));
  EXPECT_THAT(csv.values, ElementsAre(std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(), 0.0));
}

TEST(SamplerColumns, EndInTwoUnderscores) {
  EXPECT_TRUE(is_sampler_column("lp__"));
  EXPECT_FALSE(is_sampler_column("alpha_"));
  EXPECT_FALSE(is_sampler_column("x"));
}

}  // namespace
}  // namespace onward
