#include "onward/io/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/scratch.hpp"

namespace onward {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, DepthIsOfBracketsOutsideStrings) {
  EXPECT_EQ(json_depth("1"), 0u);
  EXPECT_EQ(json_depth(R"({"a": [1, {"b": []}], "c": []})"), 4u);
  EXPECT_EQ(json_depth(R"(["[[[[", "\"[[[[", "\\", []])"), 2u);
  EXPECT_EQ(json_depth("]]]][["), 2u);
  EXPECT_EQ(json_depth(nested(100'000)), 100'000u);
}

TEST(Json, WhatNestsTooDeepIsRefusedBeforeItIsParsed) {
  EXPECT_NO_THROW(parse_json(nested(most_json_depth), "a.json"));
  const auto message = error_of([] { parse_json(nested(1'000'000), "a.json"); });
  EXPECT_THAT(message, HasSubstr("a.json: its JSON is nested 1000000 deep"));
  EXPECT_THAT(error_of([] { parse_json("[1,", "a.json"); }),
              HasSubstr("a.json: not valid JSON: parse error at line 1"));
}

TEST(Json, TextThatIsNotUtf8IsWrittenWithReplacements) {
  const nlohmann::json json{{"name",
                             "gr\xf6\xdf"
                             "e"}};
  EXPECT_EQ(json_text(json),
            "{\"name\":\"gr\xef\xbf\xbd\xef\xbf\xbd"
            "e\"}");
  EXPECT_EQ(json_text(nlohmann::json{1, 2}, 1), "[\n 1,\n 2\n]");
}

}  // namespace
}  // namespace onward
