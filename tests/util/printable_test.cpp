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
  EXPECT_EQ(printable("\xc2"), "\xc2");
}

}  // namespace
}  // namespace onward
