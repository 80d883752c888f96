// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb says to its user. fmt::print() throws if the stream is closed or its disk is full; what rdb has to
// say is never a reason to end otherwise than it would have.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <string>

namespace rdb {

template <class... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace rdb
