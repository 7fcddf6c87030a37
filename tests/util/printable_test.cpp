#include "onward/util/printable.hpp"

#include <gtest/gtest.h>

namespace onward {
namespace {

TEST(Printable, ControlCharactersAreShownNotObeyed) {
  EXPECT_EQ(printable("plain, größe, 日本"), "plain, größe, 日本");
  EXPECT_EQ(printable("\x1b[2J\r\a\x7f"), "\\x1b[2J\\x0d\\x07\\x7f");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a\\x9b31m");
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("a\nb\tc\r", true), "a\nb\tc\\x0d");
  EXPECT_EQ(printable("gr\xf6\xdf"
                      "e \xc2"),
            "gr\\xf6\\xdfe \\xc2");
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xf0\x9f\x98\x80"),
            "\\xc0\\xaf \\xed\\xa0\\x80 \xf0\x9f\x98\x80");
}

TEST(Printable, CharactersOfSeveralBytesTakeOneColumn) {
  EXPECT_EQ(columns_in(""), 0u);
  EXPECT_EQ(columns_in("0.16±0.01 größe"), 15u);
}

}  // namespace
}  // namespace onward
