// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the files of /proc/self say about the guest, where the kernel would speak of the host around it.
#pragma once

#include "rdbtool/guest/process/initial_stack.h"

#include <optional>
#include <string>
#include <string_view>

namespace rdb::guest {

class GuestLimits;
class Machine;
struct LoadedProgram;

// The content of /proc/self/NAME, for example "maps" or "stat". Nothing if the kernel's own is right.
std::optional<std::string> proc_text(Machine& machine, const LoadedProgram& program, const GuestLimits& kept,
                                     std::string_view name);

} // namespace rdb::guest
