// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON from files that anybody may have written. A few megabytes of brackets would take gigabytes as a tree,
// so depth and number of values are counted while the text is read.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rdb::trace {

struct JsonBounds {
  int depth;     // arrays and objects inside each other
  size_t values; // of any kind
};

// Throws UserError that names `path` and the offset if it is not JSON, or larger than that.
nlohmann::ordered_json parse_bounded_json(std::string_view text, const std::string& path,
                                          const JsonBounds& bounds);

// metadata.json. Environments and argument lists have a limit of a few megabytes in the kernel; hex doubles
// them. The rest is a list of the files that were mapped.
inline constexpr size_t kMaxMetadata = 64 << 20;
inline constexpr JsonBounds kMetadataBounds = {8, 4'000'000};

} // namespace rdb::trace
