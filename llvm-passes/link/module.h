// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Links the debug module: the debug objects of all units, the slots through which they reach everything
// outside, and rdb's support library.
#pragma once

#include "descriptors/descriptor.h"
#include "llvm-passes/link/command.h"

#include <string>
#include <string_view>
#include <vector>

namespace rdb::link {

// The only names that a module exports, for whoever loads it: pointers to the functions of the region records
// in their order (null for regions without one), and the slots of the symbol records in theirs.
inline constexpr std::string_view kFunctionTable = "__rdb_module_functions";
inline constexpr std::string_view kSlotTable = "__rdb_module_slots";

// An object that defines both tables and every slot; slots of private and module symbols hold their
// addresses, the program's are zero until rdb fills them.
// `empty` slots stay zero: nothing that runs uses them.
std::string slot_object(const descriptors::Descriptors& descriptors, const std::vector<std::string>& empty);

// Links `objects` into a shared object; throws UserError with the linker's words if it cannot be done.
void link_module(const Command& program, const std::vector<std::string>& objects,
                 const std::string& support_library, const std::vector<std::string>& runtime,
                 const std::string& folder, const std::string& output);

} // namespace rdb::link
