// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call does with the pointers that debug code hands it, as far as a constant argument says so.
#pragma once

#include <optional>

namespace llvm {
class CallBase;
} // namespace llvm

namespace rdb::extractor {

// Does the call use this operand as a number alone, as printf does with what a %p is for?
bool uses_as_number(const llvm::CallBase& call, unsigned operand);

// How far <rdb/show.h> follows what it is handed the address of: the text of the type says so. Nothing if the
// call is another one.
std::optional<unsigned> depth_of_show(const llvm::CallBase& call);

} // namespace rdb::extractor
