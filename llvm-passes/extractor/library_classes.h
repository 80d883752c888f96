// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Classes and functions of the C++ library, by the names that the demangler gives them: what of them leads to
// memory that is not in the object itself.
#pragma once

#include "llvm-passes/extractor/library_functions.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace rdb::extractor {

// Of a function that stands in `scope`: does it write only where its arguments lead to, and to what can be
// looked at?
bool is_known_cxx(llvm::StringRef scope, llvm::StringRef name);

// Objects of the class are pointers to what they share, with a count of them.
bool is_sharer(llvm::StringRef scope);

// What to look at in the object of a member function. Constructors find nothing there yet, and of a stream
// that is destroyed the buffer may be gone.
enum class Member : unsigned char { kOrdinary, kMakerOrBreaker };
std::optional<Look> look_at_member(llvm::StringRef scope, llvm::StringRef name, Member member);
// The same for a parameter of this type.
std::optional<Look> look_at_parameter(llvm::StringRef type);

// 0: the class is no std::string, or one of those that share their texts.
unsigned character_size_of_string(llvm::StringRef scope);

} // namespace rdb::extractor
