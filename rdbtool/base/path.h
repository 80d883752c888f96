// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parts of paths, for messages and for comparing names.
#pragma once

#include <string_view>

namespace rdb {

// "libz.so.1" of "/usr/lib/libz.so.1".
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

} // namespace rdb
