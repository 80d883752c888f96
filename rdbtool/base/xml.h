// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text inside XML: of the packets of gdb that carry it, and of pictures.
#pragma once

#include <string>
#include <string_view>

namespace rdb {

// What XML cannot hold becomes a question mark.
std::string xml_escaped(std::string_view text);

} // namespace rdb
