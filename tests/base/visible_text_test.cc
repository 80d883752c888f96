// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/visible_text.h"

#include <gtest/gtest.h>

namespace rdb {
namespace {

TEST(VisibleText, LeavesTextAsItIs) {
  for (const char* text :
       {"", "plain text", "\\n is two characters", "caf\u00e9 \u4e2d\u6587 \U0001f600", "'\"$`"}) {
    EXPECT_TRUE(is_visible(text)) << text;
    EXPECT_EQ(visible_text(text), text);
  }
}

TEST(VisibleText, EscapesWhatATerminalObeys) {
  struct Case {
    const char *text, *shown;
  };
  for (const auto& [text, shown] : std::initializer_list<Case>{
           {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
           {"\x1b[2J", "\\x1b[2J"},
           {"\x7f", "\\x7f"},
           {"\u009b2J", "\\xc2\\x9b2J"},    // C1, as a character
           {"\x9b", "\\x9b"},               // C1, as a byte
           {"\u202e", "\\xe2\\x80\\xae"},   // right-to-left override
           {"\u2066x", "\\xe2\\x81\\xa6x"}, // an isolate
           {"\u2028", "\\xe2\\x80\\xa8"},   // line separator
           {"\u200b", "\\xe2\\x80\\x8b"},   // of no width
           {"\ufeff", "\\xef\\xbb\\xbf"},
           {"\xc0\x80", "\\xc0\\x80"},          // an overlong zero
           {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, // a surrogate
           {"\xe2\x80", "\\xe2\\x80"},          // cut off
       }) {
    EXPECT_FALSE(is_visible(text)) << shown;
    EXPECT_EQ(visible_text(text), shown);
  }
}

TEST(VisibleText, LinesStayLines) {
  EXPECT_EQ(visible_lines("a\x1b\nb\r\n"), "a\\x1b\nb\\r\n");
  EXPECT_EQ(visible_lines("no end"), "no end");
}

TEST(VisibleText, ZeroIsEscaped) {
  EXPECT_EQ(visible_text(std::string_view("a\0b", 3)), "a\\x00b");
}

} // namespace
} // namespace rdb
