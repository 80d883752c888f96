// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb says to its user. fmt::print() throws if the stream is closed or its disk is full; what rdb has to
// say is never a reason to end otherwise than it would have. Names in it are anybody's, and are made visible.
#pragma once

#include "rdbtool/base/visible_text.h"

#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace rdb {

template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  std::string text = visible_lines(fmt::format(format, std::forward<Args>(args)...));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace rdb
