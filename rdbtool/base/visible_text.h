// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that come from recordings, archives and bundles are anybody's bytes. On a terminal some of them are
// commands: they move the cursor, change the order in which text is read, or begin a line that looks like one
// of rdb's own. Here they become text that can be seen.
#pragma once

#include <string>
#include <string_view>

namespace rdb {

// The length of the UTF-8 sequence at the front of `text`, which is not empty; 0 if there is none. Surrogates
// and overlong forms are none.
size_t utf8_length(std::string_view text);

// True if a terminal shows all of it as it is: valid UTF-8 without control characters (C0, DEL, C1), without
// line separators, and without the invisible characters that order text or stand for nothing.
bool is_visible(std::string_view text);

// The same text with \n, \t, \r or \xNN in place of each byte that is_visible() does not allow.
std::string visible_text(std::string_view text);

// The same for text of several lines of rdb's own: a newline stays.
std::string visible_lines(std::string_view text);

} // namespace rdb
