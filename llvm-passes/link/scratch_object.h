// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the linker for final addresses: makes a copy of an object that has, beside everything it had, sections
// of questions. Each is a relocation whose result stands in the linked file. A question about code in a
// section group joins that group, so it disappears with a losing copy; a guard beside the questions about a
// section is zero if --gc-sections dropped it.
#pragma once

#include "descriptors/payload.h"

#include <map>
#include <string>
#include <vector>

namespace rdb::link {

struct Question {
  uint64_t id;
  // kDiscarded asks only whether the object is in the program: the answer is any number.
  descriptors::Target target;
};

// The section that holds the questions. Its name makes it debug information: linkers then accept references
// to discarded code and never let it keep code alive.
inline constexpr std::string_view kQuestionSection = ".debug_rdb";

std::string with_questions(const elf::File& object, const std::vector<Question>& questions);

// The answers in a linked file: id -> address. Questions about code that is not in the program are missing.
// Several copies of an object give several answers to a question, all of them kept.
std::multimap<uint64_t, uint64_t> read_answers(const elf::File& linked);

} // namespace rdb::link
