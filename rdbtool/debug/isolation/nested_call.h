// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls from debug code to functions of the program, and everything else by which debug code may change the
// program's memory.
//
// A function of the program cannot be called in place. Its code is not executable for the CPU, it would run
// on rdb's stack, and what it writes would stay. So such calls go to a stub, which saves the registers of the
// call (CallFrame) and has run() execute the function in a second engine. That engine has the same memory, a
// stack of its own, and notes the old bytes of everything it stores in an UndoLog. The results go back into
// the frame, and for debug code it was a call like any other. When the region ends, undo() plays the log
// backwards: the recorded run never had that call.
//
// How calls get to the stub: the debug module sends there every call of an address that may be the program's.
// Where one slips through, because a library calls a function pointer that debug code has passed to it, the
// jump faults, and redirect() sends it there from the handler. In the other direction, a function of the
// program that is given a pointer to debug code jumps to an address where the second engine finds no guest
// code: call_out() leaves the engine, calls it, and goes on.
//
// The function may make system calls. Those that change nothing are answered (nested_system_call.cc); all
// others end the region with a message. What it prints becomes debug output (GuestOutput).
//
// Debug code also writes to the program's memory itself. keep(), fill() and guard() are told before it does
// (nested_call_writes.cc): with an address, with one that the kernel will write to, or without any, when
// WriteGuard has to find out.
#pragma once

#include "rdbtool/debug/isolation/call_frame.h"
#include "rdbtool/debug/isolation/guest_heap.h"
#include "rdbtool/debug/isolation/guest_output.h"
#include "rdbtool/debug/isolation/nested_engine.h"
#include "rdbtool/debug/isolation/write_guard.h"
#include "rdbtool/guest/process/machine.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rdb::debug {

class DebugSession;

// A call has come to nested_call_stub().
void run_nested_call(CallFrame* frame, uint64_t target);

class NestedCalls {
public:
  NestedCalls(DebugSession& session, guest::Machine& machine, WriteGuard& guard);
  ~NestedCalls();
  NestedCalls(const NestedCalls&) = delete;
  NestedCalls& operator=(const NestedCalls&) = delete;

  // A fault in host code: true if it is a jump of debug code to the guest, which now goes to the stub.
  bool redirect(int signal, const siginfo_t* info, void* context);
  // True if the signal comes from code that the second engine runs.
  bool handle_signal(int signal, siginfo_t* info, void* context) {
    return engine_.handle_signal(signal, info, context);
  }
  // True if a guest function runs; it is made to stop soon.
  bool interrupt(void* context);

  // For those who run other things in it, outside of regions or around them: what a region does there is
  // undone when it ends, up to where the log was when it began. The engine's registers are not kept.
  NestedEngine& nested_engine() { return nested_; }

  // Called by debug code, through its table of functions.
  // It is about to write to this memory of the program's, which is put back when the region ends.
  static void keep_for_debug_code(const void* address, unsigned long size);
  // The kernel is about to write there for debug code.
  static void fill_for_debug_code(const void* address, unsigned long size);
  // Some code is about to run that may write anywhere to the program's memory, such as inline assembly.
  static void guard_for_debug_code();

  // In the handler of a fault: debug code has tried to write there. True if it may try again: the page was
  // guarded, and is saved and open now, or it had translated code on it, which is forgotten.
  bool notice_write(uint64_t address, void* context);

  // Around a call of code that is neither the program's nor the module's: the program's memory is guarded.
  // False if the call is not given any memory of the program that can be written to: then nothing is done.
  bool begin_watch(const CallFrame& frame);
  void end_watch();

  // Around a region: afterwards the program's memory is what it was.
  void begin_region() {
    if (guard_.reports()) guard();
  }
  void end_region() {
    if (used_) undo();
  }

private:
  friend void run_nested_call(CallFrame*, uint64_t);
  void run(CallFrame& frame, uint64_t function);
  void load_call(const CallFrame& frame, uint64_t function);
  void run_until_returned();
  engine::Stop run_slice();
  void deal_with(const engine::Stop& stop);
  void deal_with_fault(const engine::Fault& fault);
  void read_vectors(CallFrame& frame, size_t count) const;
  void write_vectors(const CallFrame& frame, size_t count);
  void begin_use();
  void undo();
  bool is_callback(const engine::Stop& stop) const;
  void call_out();
  int64_t system_call();
  int64_t map_memory(const SyscallArgs& arguments);
  int64_t give_random(uint64_t to, uint64_t size);
  void give_errno(int value);
  int take_errno(int otherwise) const;
  void keep(uint64_t begin, uint64_t size);
  void fill(uint64_t begin, uint64_t size);
  void guard();
  void open(uint64_t begin, uint64_t end);

  DebugSession& session_;
  guest::Machine& machine_;
  NestedEngine nested_;
  engine::Translator& engine_;
  UndoLog& log_;
  UndoLog::Mark before_; // what is older is not this region's
  WriteGuard& guard_;    // while guest functions run, their memory must be writable
  int watched_ = 0;      // calls in which it must not
  GuestOutput output_;
  GuestHeap heap_;
  bool used_ = false;        // by the region that runs
  bool running_ = false;     // the engine is
  uint64_t errno_place_ = 0; // of the guest's thread; 0: not known
  uint64_t stack_ = 0;
  uint64_t stack_top_ = 0; // where the next nested call begins
  // What a watched call found in memory that was opened for it, if writes are to be told.
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> found_;
};

} // namespace rdb::debug
