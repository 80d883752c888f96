// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Guest structures as text: strings, numbers, times, socket names and the other shapes that arguments have.
#pragma once

#include "rdbtool/syscalls/accessible_memory.h"
#include "rdbtool/syscalls/arg_spec.h"

#include <optional>
#include <string>

namespace rdb {

// "text" with escapes; long ones end in "...; an address if nothing can be read.
std::string bytes_text(const AccessibleMemory& memory, uint64_t pointer, uint64_t size);
std::string c_string_text(const AccessibleMemory& memory, uint64_t pointer);

// `elements` of what `spec` says lies at `pointer`; nothing if it has no shape or cannot be read.
std::optional<std::string> structure_text(const AccessibleMemory& memory, const ArgSpec& spec,
                                          uint64_t pointer, uint64_t elements);

} // namespace rdb
