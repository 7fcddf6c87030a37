#include "onward/io/run_status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "onward/io/run_folder.hpp"

namespace onward {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class RunStatusTest : public testing::Scratch {};

TEST_F(RunStatusTest, ARunThatNobodyWritesIsNotRunning) {
  std::optional<RunFolder> folder = RunFolder::create(path("out"));
  EXPECT_EQ(read_run_status(path("out")), std::nullopt);
  put("out/run.json", R"({"status": "unfinished", "settings": {"draws": 1000}})");
  EXPECT_EQ(read_run_status(path("out"))->word, "unfinished");
  EXPECT_EQ(read_run_status(path("out"))->draws, 1000u);
  folder.reset();
  EXPECT_EQ(read_run_status(path("out"))->word, "died");
  put("out/run.json", R"({"status": "complete"})");
  EXPECT_TRUE(read_run_status(path("out"))->complete());
}

TEST_F(RunStatusTest, DamageIsTold) {
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
                                  std::string(R"({"status": 3})"), std::string(100'000, '[')}) {
    put("run.json", text);
    EXPECT_THAT(error_of([&] { read_run_status(path("")); }), HasSubstr("run.json: "));
  }
}

}  // namespace
}  // namespace onward
