// Writing CSV files of draws as CmdStan would, and reading them back to the bit.

#include "onward/io/stan_csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <limits>
#include <random>

#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace {
int files_synced = 0;
}

/// Stands in for the system's: the only way to see that it was asked.
extern "C" int fsync(int file) {
  ++files_synced;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace onward {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

using IfExists = StanCsvWriter::IfExists;

StanCsvHeader header_of(std::vector<std::string> names) {
  StanCsvHeader header;
  header.model = "funnel";
  header.sampler = "pc-line-fmala";
  header.seed = 18446744073709551615u;
  header.chain_id = 3;
  header.draws = 5;
  header.warmup = 100;
  header.thin = 2;
  header.extra = {{"temperature", "1"}};
  header.parameter_names = std::move(names);
  return header;
}

class StanCsvFile : public testing::Scratch {};

TEST_F(StanCsvFile, WritesWhatCmdStanWould) {
  const auto file = path("chain-3.csv");
  StanCsvWriter writer(file, header_of({"mu", "theta.1"}));
  writer.adaptation(0.25, std::vector<double>{1, 0.5});
  writer.draw(-1.5, 0.875, 0.25, std::vector<double>{0.1, -2});
  writer.draw(-2.5, 0, 0.25, std::vector<double>{1e308, 3}, StanCsvTrajectory{3, 7, true, 4.25});
  EXPECT_EQ(writer.draws(), 2u);
  writer.finish();
  EXPECT_EQ(get(file),
            "# stan_version_major = 2\n"
            "# stan_version_minor = 32\n"
            "# stan_version_patch = 0\n"
            "# model = funnel\n"
            "# method = sample\n"
            "#   sample\n"
            "#     num_samples = 4 \n"
            "#     num_warmup = 100\n"
            "#     save_warmup = 0\n"
            "#     thin = 2\n"
            "#     algorithm = pc-line-fmala\n"
            "# id = 3\n"
            "# random\n"
            "#   seed = 18446744073709551615\n"
            "# temperature = 1\n"
            "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,theta.1\n"
            "# Adaptation terminated\n"
            "# Step size = 0.25\n"
            "# Diagonal elements of inverse mass matrix:\n"
            "# 1, 0.5\n"
            "-1.5,0.875,0.25,0,2,0,1.5,0.1,-2\n"
            "-2.5,0,0.25,3,7,1,4.25,1e+308,3\n"
            "# \n"
            "#  Elapsed Time: 0 seconds (Warm-up)\n"
            "#                0 seconds (Sampling)\n"
            "#                0 seconds (Total)\n"
            "# \n");
}

TEST_F(StanCsvFile, CountsTheDrawsThatCame) {
  // Ten steps were to come (header_of: 5 draws, thin 2); rstan wants the header to say what the file has.
  const auto file = path("chain-1.csv"), whole = path("chain-2.csv");
  const auto add = [](StanCsvWriter& writer, int draws) {
    for (int i = 0; i < draws; ++i) writer.draw(i, 1, 0.5, std::vector<double>{1.0 * i});
  };
  {
    StanCsvWriter early(file, header_of({"mu"}));
    add(early, 3);
    early.finish();
  }
  EXPECT_EQ(read_stan_csv(file).setting("num_samples"), "6");
  {
    StanCsvWriter on = StanCsvWriter::resume(file, header_of({"mu"}), 0);
    EXPECT_EQ(read_stan_csv(file).setting("num_samples"), "10");
    add(on, 5);
    on.finish();
  }
  StanCsvWriter straight(whole, header_of({"mu"}));
  add(straight, 5);
  straight.finish();
  EXPECT_EQ(get(file), get(whole));
}

TEST_F(StanCsvFile, ComesBackToTheBit) {
  std::mt19937_64 generator(11);
  std::vector<double> values{0.0,
                             -0.0,
                             1e308,
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::min(),
                             std::numeric_limits<double>::denorm_min(),
                             -4.9e-320,
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             0.1,
                             1.0 / 3,
                             9007199254740993.0};
  while (values.size() < 6000) {
    const auto bits = std::bit_cast<double>(generator());
    if (!std::isnan(bits)) values.push_back(bits);
  }
  const auto file = path("chain-1.csv");
  StanCsvWriter writer(file, header_of({"a", "b", "c"}));
  for (std::size_t i = 0; i < values.size(); i += 3)
    writer.draw(values[i], 1, 0.5, std::span(values).subspan(i, 3));
  writer.draw(0, 1, 0.5, std::vector<double>{std::nan(""), -std::nan("7"), 1});
  writer.finish(1.5, 2.25);

  const StanCsv csv = read_stan_csv(file);
  ASSERT_EQ(csv.rows(), values.size() / 3 + 1);
  EXPECT_FALSE(csv.incomplete_last_line);
  EXPECT_EQ(csv.warmup_rows, 0u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double back = csv.values[(i / 3) * csv.columns.size() + 7 + i % 3];
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(values[i])) << values[i];
  }
  EXPECT_TRUE(std::isnan(csv.column(7).back()));
  EXPECT_TRUE(std::isnan(csv.column(8).back()));
  EXPECT_EQ(csv.column(9).back(), 1);
  EXPECT_EQ(csv.setting("seed"), "18446744073709551615");
  EXPECT_EQ(csv.setting("temperature"), "1");
  EXPECT_EQ(csv.setting("nothing"), std::nullopt);
  EXPECT_THAT(csv.parameter_columns(), ElementsAre(7, 8, 9));
  EXPECT_EQ(csv.find_column("b"), 8u);
  EXPECT_EQ(csv.find_column("d"), std::nullopt);
  EXPECT_THROW(csv.column(10), Error);
  EXPECT_THAT(get(file), HasSubstr("Elapsed Time: 1.5 seconds (Warm-up)"));
}

TEST_F(StanCsvFile, EqualRunsGiveEqualBytes) {
  for (const char* name : {"a.csv", "b.csv"}) {
    StanCsvWriter writer(path(name), header_of({"x"}));
    writer.adaptation(0.1, {});
    for (int i = 0; i < 100; ++i) writer.draw(-i, 0.5, 0.1, std::vector<double>{std::sqrt(i)});
    writer.finish();
  }
  EXPECT_EQ(get(path("a.csv")), get(path("b.csv")));
}

TEST_F(StanCsvFile, AFinishedFileIsOnDisk) {
  StanCsvWriter writer(path("chain-1.csv"), header_of({"x"}));
  files_synced = 0;
  writer.flush();
  EXPECT_EQ(files_synced, 0);
  writer.finish();
  EXPECT_EQ(files_synced, 2);  // the file and its folder
}

TEST_F(StanCsvFile, NeverOverwritesUnasked) {
  const auto file = put("chain-1.csv", "precious");
  const auto message = error_of([&] { StanCsvWriter(file, header_of({"x"})); });
  EXPECT_THAT(message, HasSubstr("chain-1.csv: File exists"));
  EXPECT_EQ(get(file), "precious");
  StanCsvWriter(file, header_of({"x"}), IfExists::overwrite).finish();
  EXPECT_THAT(get(file), ::testing::StartsWith("# stan_version_major"));
}

TEST_F(StanCsvFile, RefusesNamesThatWouldBreakTheFile) {
  for (const char* name : {"", " a", "#a", "lp__"}) {
    const auto message = error_of([&] { StanCsvWriter(path("x.csv"), header_of({"ok", name})); });
    EXPECT_THAT(message, HasSubstr("Rename the parameter")) << name;
    EXPECT_FALSE(std::filesystem::exists(path("x.csv")));
  }
  auto header = header_of({"x"});
  header.model = "two\nlines";
  StanCsvWriter(path("x.csv"), header).finish();
  EXPECT_EQ(read_stan_csv(path("x.csv")).setting("model"), "two lines");
}

TEST_F(StanCsvFile, NamesArePlainAtTheHeadAndComeBackWhole) {
  const std::vector<std::string> names{"induced:spontaneous",
                                       "edu12+",
                                       "edu12",
                                       "pooled.stratum",
                                       "I(x^2)",
                                       "edu 12",
                                       "wt-2",
                                       "edu.12",
                                       "poly(x, 2)1",
                                       "g\"quoted\"",
                                       "edu_12",
                                       "größe",
                                       "2nd",
                                       "::",
                                       "x==(Default)"};
  auto header = header_of(names);
  header.parameter_indices.assign(names.size(), 0);
  StanCsvWriter writer(path("x.csv"), header);
  writer.draw(0, 1, 1, std::vector<double>(names.size(), 2.0));
  writer.finish();
  const auto csv = read_stan_csv(path("x.csv"));
  EXPECT_THAT(
      std::vector(csv.columns.begin() + 7, csv.columns.end()),
      ElementsAre("induced_spontaneous", "edu12_2", "edu12", "pooled_stratum", "I_x_2", "edu_12_2", "wt_2",
                  "edu_12_3", "poly_x_2_1", "g_quoted", "edu_12", "gr_e", "x2nd", "x", "x_Default"));
  EXPECT_EQ(std::vector(csv.names.begin() + 7, csv.names.end()), names);
  EXPECT_EQ(csv.names[0], "lp__");
}

TEST_F(StanCsvFile, IndicesStayIndices) {
  // As models have them: every number after a dot at the end is an index.
  StanCsvWriter(path("a.csv"), header_of({"mu", "theta.1", "theta.2", "eta.1.2", "edu.12", "my par.3"}))
      .finish();
  const auto a = read_stan_csv(path("a.csv"));
  EXPECT_THAT(std::vector(a.columns.begin() + 7, a.columns.end()),
              ElementsAre("mu", "theta.1", "theta.2", "eta.1.2", "edu.12", "my_par.3"));
  EXPECT_EQ(a.names.back(), "my par.3");
  // Of names that columns of X were given only the class is one.
  auto header = header_of({"edu.12.1", "edu 12.1", "edu.12.2", "edu 12.2"});
  header.parameter_indices = {1, 1, 1, 1};
  StanCsvWriter(path("b.csv"), header).finish();
  const auto b = read_stan_csv(path("b.csv"));
  EXPECT_THAT(std::vector(b.columns.begin() + 7, b.columns.end()),
              ElementsAre("edu_12.1", "edu_12.2", "edu_12_2.1", "edu_12_2.2"));
  EXPECT_THAT(std::vector(b.names.begin() + 7, b.names.end()),
              ElementsAre("edu.12.1", "edu.12.2", "edu 12.1", "edu 12.2"));
  header.parameter_indices = {1};
  EXPECT_THROW(StanCsvWriter(path("c.csv"), header), Error);
}

/// rstan's extract() counts on it that arrays stand together, the first index running fastest.
TEST_F(StanCsvFile, ArraysAreInStansOrder) {
  StanCsvWriter writer(path("a.csv"),
                       header_of({"b.1.1", "a.1", "b.1.2", "a.10", "a.2", "b.2.1", "c", "b.2.2"}));
  writer.draw(0, 1, 1, std::vector<double>{11, 1, 12, 10, 2, 21, 0, 22});
  writer.finish();
  const auto csv = read_stan_csv(path("a.csv"));
  EXPECT_THAT(std::vector(csv.columns.begin() + 7, csv.columns.end()),
              ElementsAre("b.1.1", "b.2.1", "b.1.2", "b.2.2", "a.1", "a.2", "a.10", "c"));
  EXPECT_THAT(std::vector(csv.values.begin() + 7, csv.values.end()),
              ElementsAre(11, 21, 12, 22, 1, 2, 10, 0));
}

TEST_F(StanCsvFile, MetricMayHaveAnotherSizeThanTheParameters) {
  StanCsvWriter writer(path("x.csv"),
                       header_of({"p.1", "p.2", "p.3"}));  // a simplex is sampled in two numbers
  writer.adaptation(1, std::vector<double>{1, 2});
  writer.draw(0, 1, 1, std::vector<double>{0.2, 0.3, 0.5});
  writer.finish();
  const auto csv = read_stan_csv(path("x.csv"));
  EXPECT_EQ(csv.inverse_metric, (std::vector<double>{1, 2}));
  EXPECT_EQ(csv.rows(), 1u);
}

TEST_F(StanCsvFile, RefusesDrawsOfAnotherSize) {
  StanCsvWriter writer(path("x.csv"), header_of({"a", "b"}));
  EXPECT_THAT(error_of([&] { writer.draw(0, 1, 1, std::vector<double>{1}); }),
              HasSubstr("a draw of 1 values for 2 parameters"));
  writer.finish();
  EXPECT_THROW(writer.draw(0, 1, 1, std::vector<double>{1, 2}), Error);
  EXPECT_EQ(read_stan_csv(path("x.csv")).rows(), 0u);
}

TEST_F(StanCsvFile, MovesAndDestructorKeepEveryDraw) {
  {
    StanCsvWriter first(path("a.csv"), header_of({"x"}));
    first.draw(0, 1, 1, std::vector<double>{1});
    StanCsvWriter second(std::move(first));
    second.draw(0, 1, 1, std::vector<double>{2});
    StanCsvWriter third(path("b.csv"), header_of({"x"}));
    third.draw(0, 1, 1, std::vector<double>{3});
    third = std::move(second);
    third.draw(0, 1, 1, std::vector<double>{4});
  }
  EXPECT_THAT(read_stan_csv(path("a.csv")).column(7), ElementsAre(1, 2, 4));
  EXPECT_THAT(read_stan_csv(path("b.csv")).column(7), ElementsAre(3));
}

TEST_F(StanCsvFile, FlushedDrawsCanBeReadWhileTheRunGoesOn) {
  StanCsvWriter writer(path("a.csv"), header_of({"x"}));
  writer.draw(0, 1, 1, std::vector<double>{1});
  writer.flush();
  EXPECT_EQ(read_stan_csv(path("a.csv")).rows(), 1u);
}

TEST(StanCsvFullDisk, NamesFileReasonAndRemedy) {
  const auto message = error_of([] { StanCsvWriter("/dev/full", header_of({"x"}), IfExists::overwrite); });
  EXPECT_THAT(message, HasSubstr("cannot write /dev/full: No space left on device. Free some space"));
}

/// Files cannot grow beyond so many bytes while it lives: a disk that fills up in the middle of a line.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(StanCsvFile, AfterAFailedWriteTheFileEndsWithAWholeLine) {
  for (const rlim_t limit : {2000, 2001, 2013, 2040}) {
    const auto file = path("chain-" + std::to_string(limit) + ".csv");
    StanCsvWriter writer(file, header_of({"x", "y"}));
    std::size_t flushed = 0;
    {
      const SizeLimit full(limit);
      const auto message = error_of([&] {
        for (int i = 0; i < 1000; ++i) {
          writer.draw(-i, 0.5, 0.1, std::vector<double>{std::sqrt(i), std::exp(i)});
          if (i % 7 == 6) {
            writer.flush();
            flushed = writer.draws();
          }
        }
      });
      EXPECT_THAT(message, HasSubstr(file.string() + ": File too large. Raise the limit"));
      EXPECT_THROW(writer.flush(), Error);
    }
    EXPECT_TRUE(get(file).ends_with('\n'));
    const StanCsv csv = read_stan_csv(file);
    EXPECT_FALSE(csv.incomplete_last_line);
    EXPECT_GE(csv.rows(), flushed);
    EXPECT_LT(csv.rows(), 100u);
    const auto x = csv.column(7);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], std::sqrt(static_cast<double>(i)));
  }
}

TEST_F(StanCsvFile, FailingDestructorStaysSilent) {
  StanCsvWriter writer(path("a.csv"), header_of({"x"}));
  const SizeLimit full(std::filesystem::file_size(path("a.csv")));
  writer.draw(0, 1, 1, std::vector<double>{1});
  { const StanCsvWriter last(std::move(writer)); }
  EXPECT_EQ(read_stan_csv(path("a.csv")).rows(), 0u);
}

}  // namespace
}  // namespace onward
