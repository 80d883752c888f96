// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which writes are part of a function call that gdb makes, and when the copy in which it runs is thrown away.
//
// gdb's call: read siginfo (and registers), write arguments, stack and pc, resume until the return, write
// siginfo back, write all registers back. What the called function left in memory must stay readable after
// that (strings it returned, memory it allocated for the next call's arguments), so the copy lives on until
// gdb resumes outside a call.
//
// For a string or an array that must have an address, as in `print (char*)"abc"`, gdb calls malloc and fills
// the memory when that call is over. What malloc has just returned belongs to nobody else, so this write
// is let through, too.
#include "rdbtool/gdb/protocol/register_file.h"
#include "rdbtool/gdb/protocol/session.h"

#include <fmt/format.h>

namespace rdb::gdb {

namespace {
constexpr size_t kRax = 0, kRsp = 4, kRdi = 7; // in the order of the encoding
}

void Session::siginfo_read() {
  ++siginfo_reads_;
  if (diversion_ == DiversionState::none) diversion_ = DiversionState::allowed;
}

void Session::siginfo_written() {
  if (siginfo_reads_ > 0) --siginfo_reads_;
}

void Session::allow_writes() {
  if (diversion_ != DiversionState::allowed) return;
  for (const ThreadInfo& thread : target_.threads())
    recorded_[thread.id] = target_.registers(thread.id);
  target_.begin_diversion();
  diversion_ = DiversionState::active;
}

std::string Session::write_memory(GuestAddr address, std::span<const std::byte> data) {
  // Between calls the copy is only there to be looked at.
  uint64_t offset = address.value - allocation_.begin.value;
  bool allocated = offset < allocation_.size && data.size() <= allocation_.size - offset;
  if (diversion_ == DiversionState::none || (siginfo_reads_ == 0 && !allocated)) {
    say_(fmt::format("rdb: a recorded run cannot be changed: {} bytes at {:#x} not written", data.size(),
                     address.value));
    return "E0e";
  }
  allow_writes();
  return target_.write_memory(address, data) == data.size() ? "OK" : "E0e";
}

std::string Session::write_registers(ThreadId thread, const ThreadRegisters& changed) {
  if (changed == target_.registers(thread)) return "OK";
  // gdb shows this answer; for memory it would not.
  if (diversion_ == DiversionState::none || !belongs_to_call(thread, changed))
    return "E.rdb: a recorded run cannot be changed";
  allow_writes();
  target_.write_registers(thread, changed);
  return "OK";
}

// After a call, gdb writes back what was there before; anything else is the user's wish.
bool Session::belongs_to_call(ThreadId thread, const ThreadRegisters& changed) {
  if (siginfo_reads_ > 0) return true;
  ThreadRegisters present = target_.registers(thread);
  const ThreadRegisters& before = recorded_[thread];
  for (unsigned i = 0; i < register_count(); ++i) {
    auto value = register_bytes(changed, i);
    if (value != register_bytes(present, i) && value != register_bytes(before, i)) return false;
  }
  return true;
}

// A call has moved the pc or the stack pointer, and has not written siginfo back. Neither alone is enough:
// the user may look at $_siginfo without calling anything, and calls nest.
bool Session::in_call(ThreadId thread) {
  if (diversion_ != DiversionState::active || siginfo_reads_ == 0) return false;
  ThreadRegisters now = target_.registers(thread);
  const ThreadRegisters& before = recorded_[thread];
  return now.rip != before.rip || now.gpr[kRsp] != before.gpr[kRsp];
}

// Runs on in a function that gdb has called. Notes what malloc returns if it is that.
StopEvent Session::run_call(ThreadId thread, const RunRequest& request) {
  ThreadRegisters before = target_.registers(thread);
  GuestAddr back;
  target_.read_memory(GuestAddr(before.gpr[kRsp]), std::as_writable_bytes(std::span(&back, 1)));
  StopEvent stop = target_.run_diversion(thread, request);
  allocation_ = {};
  if (!malloc_ || before.rip != malloc_->value || stop.kind != StopKind::breakpoint) return stop;
  ThreadRegisters after = target_.registers(thread);
  bool returned = after.rip == back.value && after.gpr[kRsp] == before.gpr[kRsp] + sizeof back;
  if (returned && after.gpr[kRax] != 0) allocation_ = {GuestAddr(after.gpr[kRax]), before.gpr[kRdi]};
  return stop;
}

void Session::leave_diversion() {
  if (diversion_ == DiversionState::active) target_.end_diversion();
  diversion_ = DiversionState::none;
  siginfo_reads_ = 0;
  allocation_ = {};
  recorded_.clear();
}

} // namespace rdb::gdb
