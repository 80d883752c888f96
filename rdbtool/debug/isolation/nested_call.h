// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls from debug code into the guest. The guest's code is never executed in place: the debug module sends
// such calls to a stub, and where one slips through (a pointer called by a library) the jump faults and the
// fault handler sends it there. The stub runs the function in a second engine, on a stack of its own, with
// the old bytes of everything it writes kept. When the region ends all of it is undone. A guest function
// that calls back into debug code leaves the engine for it.
#pragma once

#include "rdbtool/debug/isolation/call_frame.h"
#include "rdbtool/debug/isolation/guest_heap.h"
#include "rdbtool/debug/isolation/guest_output.h"
#include "rdbtool/debug/isolation/undo_log.h"
#include "rdbtool/debug/isolation/write_guard.h"
#include "rdbtool/replay/replayer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdb::debug {

// A call has come to nested_call_stub().
void run_nested_call(CallFrame* frame, uint64_t target);

class NestedCalls {
public:
  NestedCalls(replay::Replayer& replayer, WriteGuard& guard);
  ~NestedCalls();
  NestedCalls(const NestedCalls&) = delete;
  NestedCalls& operator=(const NestedCalls&) = delete;

  // A fault in host code: true if it is a jump of debug code to the guest, which now goes to the stub.
  bool redirect(int signal, const siginfo_t* info, void* context);
  // Is this the second engine's? Then it is told.
  bool handle_signal(int signal, siginfo_t* info, void* context) {
    return engine_.handle_signal(signal, info, context);
  }
  // True if a guest function runs; it is made to stop soon.
  bool interrupt(void* context);

  // Debug code is about to write there itself: that is undone, too.
  static void keep_for_debug_code(const void* address, unsigned long size);
  // The kernel is, for debug code.
  static void fill_for_debug_code(const void* address, unsigned long size);
  // Something is about to, nobody knows where: whatever it writes is undone.
  static void guard_for_debug_code();
  // That came about, or debug code has written to a page with translated code. False: it is no such write.
  bool notice_write(uint64_t address, void* context);

  // Around a call of code that is neither the guest's nor the module's. False if it is not given any memory
  // of the guest that can be written to: then nothing is done.
  bool begin_watch(const CallFrame& frame);
  void end_watch();

  // Around a region: afterwards the guest's memory is what it was.
  void begin_region() {
    current_ = this;
    if (guard_.reports()) guard();
  }
  void end_region() {
    if (used_) undo();
  }
  // The one that runs; debug functions do not run concurrently.
  static NestedCalls* current() { return current_; }

private:
  friend void run_nested_call(CallFrame*, uint64_t);
  void run(CallFrame& frame, uint64_t function);
  void read_vectors(CallFrame& frame, size_t count) const;
  void write_vectors(const CallFrame& frame, size_t count);
  void begin_use();
  void undo();
  bool is_callback(const engine::Stop& stop) const;
  void call_out();
  int64_t system_call();
  void give_errno(int value);
  int take_errno(int otherwise) const;
  void guard();
  void open(uint64_t begin, uint64_t end);

  static inline NestedCalls* current_ = nullptr;

  replay::Replayer& replayer_;
  engine::Translator engine_;
  UndoLog log_;
  WriteGuard& guard_; // while guest functions run, their memory must be writable
  int watched_ = 0;   // calls in which it must not
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
