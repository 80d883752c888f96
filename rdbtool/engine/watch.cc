// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Does an instruction touch a watched range? Translated code asks a filter; what that cannot tell is asked
// here, before a single step.
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <ucontext.h>

namespace rdb::engine {

bool Translator::watched(const Instruction& instruction, Access& access) {
  for (const MemoryAccess& touched : memory_accesses(instruction, *this)) {
    if (!watches_.wants(touched.address, touched.size, touched.read, touched.write)) continue;
    access = {GuestAddr(touched.address), touched.size, touched.write};
    return true;
  }
  return false;
}

void Translator::forget_unwatched_code() {
  if (cache_.holds_code()) cache_.flush_all();
  watches_.forget_answers();
}

// A hook from which this is done is left as if it had shortened the run: the instruction after it, and those
// about which the code has asked already, are looked at anew.
void Translator::add_watch(GuestAddr address, uint64_t size, bool reads, bool writes) {
  if (size == 0) return;
  WatchFilter::Watch watch{address.value, address.value + size, reads, writes};
  // Code that is there asks about every address that it computes, if anything was watched when it was made.
  if (watches_.empty() || watches_.relied_on(watch)) forget_unwatched_code();
  watches_.add(watch);
  run_shortened_ = true;
}

void Translator::clear_watches() {
  if (!watches_.empty()) forget_unwatched_code();
  watches_.clear();
  watches_.set_trapped(false);
}

void Translator::set_watches(std::span<const WatchFilter::Watch> watches, bool trapped) {
  bool stale = watches_.empty() != watches.empty() || watches_.trapped() != trapped ||
               std::any_of(watches.begin(), watches.end(),
                           [&](const WatchFilter::Watch& watch) { return watches_.relied_on(watch); });
  if (stale) forget_unwatched_code();
  watches_.clear();
  watches_.set_trapped(trapped);
  for (const WatchFilter::Watch& watch : watches)
    watches_.add(watch);
  run_shortened_ = true;
}

// The trap comes after the write, in the middle of whatever follows it in the cache. All that may follow
// before the next guest instruction is a register that gets its value back.
bool Translator::handle_write_trap(void* ucontext) {
  greg_t* gregs = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (!cache_.contains(pc - 1) || !cache_.contains(pc)) return false;
  const MapEntry* writer = map_entry(pc - 1);
  const MapEntry* here = map_entry(pc);
  if (writer == nullptr || here == nullptr || !(writer->spill() & kTraps)) return false;
  restore_spilled(*here, gregs);
  interrupted_code_.pc = writer->pc();
  interrupted_code_.owed = writer->owed() + 1;
  interrupted_code_.what = InterruptedCode::What::written;
  leave_for_fault(gregs);
  return true;
}

} // namespace rdb::engine
