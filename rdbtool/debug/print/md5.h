// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MD5 (RFC 1321), for one purpose: debug information names sources by it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rdb::debug {

using Md5 = std::array<uint8_t, 16>;

Md5 md5(std::string_view text);

} // namespace rdb::debug
