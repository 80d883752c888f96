// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does an instruction touch a watched range? Asked before each step while there are watches.
#include "rdbtool/engine/operand.h"
#include "rdbtool/engine/translator.h"

namespace rdb::engine {

bool Translator::watched(const Instruction& instruction, Access& access) {
  for (const MemoryAccess& touched : memory_accesses(instruction, state_.registers)) {
    for (const Watch& watch : watches_) {
      if (touched.address >= watch.end || touched.address + touched.size <= watch.begin) continue;
      if (!(touched.write && watch.writes) && !(touched.read && watch.reads)) continue;
      access = {GuestAddr(touched.address), touched.size, touched.write};
      return true;
    }
  }
  return false;
}

} // namespace rdb::engine
