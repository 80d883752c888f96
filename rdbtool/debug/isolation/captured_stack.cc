// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/captured_stack.h"

#include "rdbtool/base/own_memory.h"
#include "rdbtool/debug/debug_session.h"

#include <algorithm>
#include <exception>
#include <new>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

// An exception that is thrown while another is on its way is noted in a room of its own.
constexpr size_t kThrows = 3;

// Mapped when they are first needed, and no part of the session: rdb must start where a limit (ulimit -d)
// allows little memory.
std::span<NotedThrow> throws(DebugSession& session) {
  if (session.throws.empty()) {
    void* memory = mmap(nullptr, kThrows * sizeof(NotedThrow), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) session.throws = {new (memory) NotedThrow[kThrows], kThrows};
  }
  return session.throws;
}

NotedThrow* throw_of_depth(DebugSession& session, int depth) {
  std::span<NotedThrow> all = throws(session);
  return static_cast<size_t>(depth) < all.size() ? &all[static_cast<size_t>(depth)] : nullptr;
}

} // namespace

CapturedStack capture_stack(void* context, StackRoom& room) {
  CapturedStack result;
  const greg_t* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  static constexpr int kGreg[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (int i = 0; i < 16; ++i)
    result.registers.gpr[i] = static_cast<uint64_t>(gregs[kGreg[i]]);
  result.registers.rip = static_cast<uint64_t>(gregs[REG_RIP]);
  uint64_t begin = result.registers.gpr[engine::RSP];
  // The stack grows down from the region's caller, whose frame holds the AbortPoint.
  auto end = reinterpret_cast<uint64_t>(DebugSession::run.abort_point);
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
  if (!can_abort_debug_code()) return;
  DebugSession& session = *DebugSession::current();
  // This one is counted by now.
  NotedThrow* noted = throw_of_depth(session, std::uncaught_exceptions() - 1);
  if (noted == nullptr) return;
  // Where it was thrown first says more than where it was passed on.
  if (noted->exception == exception && noted->run == DebugSession::run.number) return;
  ucontext_t here;
  getcontext(&here);
  noted->exception = exception;
  noted->run = DebugSession::run.number;
  noted->stack = capture_stack(&here, noted->room);
}

CapturedStack stack_of_throw() {
  DebugSession& session = *DebugSession::current();
  // The one that is caught is not counted any more.
  const NotedThrow* noted = throw_of_depth(session, std::uncaught_exceptions());
  return noted != nullptr && noted->run == DebugSession::run.number ? noted->stack : CapturedStack{};
}

} // namespace rdb::debug
