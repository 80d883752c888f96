// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does an instruction touch a watched range? Translated code asks a filter; what that cannot tell is asked
// here, before a single step.
#include "rdbtool/engine/operand.h"
#include "rdbtool/engine/translator.h"

namespace rdb::engine {

bool Translator::watched(const Instruction& instruction, Access& access) {
  for (const MemoryAccess& touched : memory_accesses(instruction, state_.registers)) {
    for (const WatchFilter::Watch& watch : watches_.watches()) {
      if (touched.address >= watch.end || touched.address + touched.size <= watch.begin) continue;
      if (!(touched.write && watch.writes) && !(touched.read && watch.reads)) continue;
      access = {GuestAddr(touched.address), touched.size, touched.write};
      return true;
    }
  }
  return false;
}

void Translator::add_watch(GuestAddr address, uint64_t size, bool reads, bool writes) {
  if (size == 0) return;
  watches_.add({address.value, address.value + size, reads, writes});
  // Code that is there knows nothing of it.
  if (cache_.holds_code()) cache_.flush_all();
}

void Translator::clear_watches() {
  if (!watches_.empty() && cache_.holds_code()) cache_.flush_all();
  watches_.clear();
}

} // namespace rdb::engine
