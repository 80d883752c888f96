// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/captured_stack.h"

#include "rdbtool/base/own_memory.h"
#include "rdbtool/debug/isolation/refusal.h"

#include <algorithm>
#include <exception>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

// What is thrown while another exception is on its way is told in a place of its own.
struct Throw {
  const void* exception;
  uint64_t run; // of debug code
  Whereabouts place;
  StackRoom room;
};
constexpr size_t kThrows = 3;

// Not part of the program's own data: the kernel would not start rdb where a limit (ulimit -d) allows less.
Throw* throws() {
  static Throw* const all = [] {
    void* memory =
        mmap(nullptr, kThrows * sizeof(Throw), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Throw[kThrows];
  }();
  return all;
}

Throw* throw_of_depth(int depth) {
  return static_cast<size_t>(depth) < kThrows && throws() != nullptr ? throws() + depth : nullptr;
}

} // namespace

Whereabouts whereabouts(void* context, StackRoom& room) {
  Whereabouts result;
  const greg_t* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  static constexpr int kGreg[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (int i = 0; i < 16; ++i)
    result.registers.gpr[i] = static_cast<uint64_t>(gregs[kGreg[i]]);
  result.registers.rip = static_cast<uint64_t>(gregs[REG_RIP]);
  uint64_t begin = result.registers.gpr[engine::RSP];
  // The stack grows down from the region's caller, whose frame holds the escape.
  auto end = reinterpret_cast<uint64_t>(running.escape);
  // After an overflow the innermost pages are not there.
  for (int tries = 0; tries < 32 && begin < end; ++tries) {
    size_t size = std::min<uint64_t>(end - begin, room.size());
    if (read_own_memory(reinterpret_cast<void*>(begin), room.data(), size) == size) {
      result.stack_begin = begin;
      result.stack = {room.data(), size};
      break;
    }
    begin = (begin | 4095) + 1;
  }
  return result;
}

void note_throw(const void* exception) {
  if (!can_escape()) return;
  // This one is counted by now.
  Throw* noted = throw_of_depth(std::uncaught_exceptions() - 1);
  if (noted == nullptr) return;
  // Where it was thrown first says more than where it was passed on.
  if (noted->exception == exception && noted->run == running.number) return;
  ucontext_t here;
  getcontext(&here);
  noted->exception = exception;
  noted->run = running.number;
  noted->place = whereabouts(&here, noted->room);
}

Whereabouts place_of_throw() {
  // That which is caught is not counted any more.
  const Throw* noted = throw_of_depth(std::uncaught_exceptions());
  return noted != nullptr && noted->run == running.number ? noted->place : Whereabouts{};
}

} // namespace rdb::debug
