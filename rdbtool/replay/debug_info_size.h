// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug information may be small in its file and large in memory: sections can be compressed, and every byte
// of a line table can be a row of a hundred bytes. A recording may bring any file, so its debug information
// is measured before libdw, which takes what it is told, reads it.
#pragma once

#include <string>

namespace rdb::replay {

// Why the debug information of this file is not read; empty: it may be. docs/limits.md has the bounds.
std::string why_too_large(const std::string& file);

} // namespace rdb::replay
