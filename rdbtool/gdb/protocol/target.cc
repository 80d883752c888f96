// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The few things about stops that every target must see alike.
#include "rdbtool/gdb/protocol/target.h"

#include <algorithm>

namespace rdb::gdb {

std::string describe(const ProgramEnd& ending) {
  switch (ending.kind) {
  case ProgramEnd::Kind::exited:
    return "the program exited with status " + std::to_string(ending.value);
  case ProgramEnd::Kind::signalled:
    return "signal " + std::to_string(ending.value) + " ended the program";
  case ProgramEnd::Kind::replaced:
    return "another program took its place; rdb ps lists it";
  case ProgramEnd::Kind::cut:
    break;
  }
  return "the recording was cut off";
}

bool SyscallCatch::catches(int64_t number) const {
  return enabled && (numbers.empty() || std::ranges::find(numbers, number) != numbers.end());
}

} // namespace rdb::gdb
