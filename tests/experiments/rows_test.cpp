// Rows by child processes: results, problems, and rows that are found again.

#include "experiments/rows.hpp"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <unistd.h>

#include "experiments/words.hpp"
#include "io/scratch.hpp"

namespace onward::experiments {
namespace {

using nlohmann::ordered_json;
using onward::testing::error_of;
using ::testing::HasSubstr;

class Rows : public onward::testing::Scratch {
 protected:
  /// A row that holds the number of the process that made it.
  static RowJob job(const ordered_json& settings = {{"seed", 1}}) {
    return {"a", settings, [](const Share&) { return ordered_json{{"process", ::getpid()}}; }};
  }
  std::optional<ordered_json> made(const RowJob& work, const std::string& folder = "") const {
    return make_row(folder, work, {}, stop);
  }
  std::atomic<bool> stop{false};
};

TEST_F(Rows, AreMadeByAnotherProcess) { EXPECT_NE(made(job())->at("process"), ::getpid()); }

TEST_F(Rows, AreFoundAgainIfNothingChanged) {
  const std::string folder = path("").string();
  const auto first = made(job(), folder);
  EXPECT_EQ(made(job(), folder), first);
  EXPECT_THAT(
      [&] {
        made(job({{"seed", 2}}), folder);
      },
      ::testing::ThrowsMessage<Error>(HasSubstr("seed 1, not 2")));
  RowJob other = job({{"seed", 2}});
  other.replaces = true;
  EXPECT_NE(made(other, folder), first);
  // What is no row is made anew.
  for (const std::string& text : {std::string("{\"settings\": "), std::string("[]"), std::string("{}"),
                                  std::string(200'000, '[') + std::string(200'000, ']')}) {
    put("row-a.json", text);
    EXPECT_TRUE(made(job(), folder)->contains("process"));
  }
  EXPECT_THAT(get(path("row-a.json")), HasSubstr("\"seed\": 1"));
}

TEST_F(Rows, OfChangedDataAreRefused) {
  put("data.csv", "1,2\n");
  const auto settings = [&] { return ordered_json{{"data", data_settings(path("data.csv").string())}}; };
  const std::string folder = path("").string();
  const auto first = made(job(settings()), folder);
  EXPECT_EQ(made(job(settings()), folder), first);
  put("data.csv", "1,3\n");
  EXPECT_THAT(error_of([&] { made(job(settings()), folder); }),
              ::testing::AllOf(HasSubstr("row-a.json was made with data"), HasSubstr("data.csv")));
  EXPECT_EQ(data_settings(""), "");
  std::filesystem::create_directories(path("images"));
  put("images/a", "1");
  const auto before = data_settings(path("images").string());
  put("images/a", "2");
  EXPECT_NE(data_settings(path("images").string()), before);
}

TEST_F(Rows, ProgressIsPassedOn) {
  RowJob work = job();
  work.work = [](const Share& progress) {
    ::usleep(250'000);
    progress(0.25);
    return ordered_json{{"done", true}};
  };
  std::vector<double> shares;
  make_row(
      "", work, [&](double share) { shares.push_back(share); }, stop);
  EXPECT_THAT(shares, ::testing::ElementsAre(0.25));
}

TEST_F(Rows, ProblemsAreTold) {
  RowJob work = job();
  work.work = [](const Share&) -> ordered_json { throw Error("no such data"); };
  EXPECT_EQ(error_of([&] { made(work); }), "no such data");
  work.work = [](const Share&) -> ordered_json {
    std::raise(SIGKILL);
    return {};
  };
  EXPECT_THAT(error_of([&] { made(work); }), HasSubstr("the process of a ended without a result (signal 9)"));
  EXPECT_FALSE(std::filesystem::exists(path("row-a.json")));
}

TEST_F(Rows, AreGivenUpWhenTold) {
  stop = true;
  RowJob work = job();
  work.work = [](const Share&) -> ordered_json {
    for (;;) ::pause();
  };
  EXPECT_FALSE(made(work, path("").string()));
  EXPECT_FALSE(std::filesystem::exists(path("row-a.json")));
}

TEST(Words, TablesLineUp) {
  const Words words{{"name", "value"}, {{"a", "1.5"}, {"long name", "2"}}};
  EXPECT_EQ(aligned(words), "name       value\na            1.5\nlong name      2\n");
  EXPECT_EQ(markdown(words), "| name | value |\n| --- | --- |\n| a | 1.5 |\n| long name | 2 |\n");
  EXPECT_EQ(both(1.25, 2.5, 1), "1.2 (2.5)");
  EXPECT_EQ(both(1.25, std::nullopt, 2), "1.25");
}

}  // namespace
}  // namespace onward::experiments
