// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of debug/ share about the debug code of this process, and the only way to it from places
// that cannot be given a reference.
//
// Debug code calls rdb through a table of C functions, which carry no context. rdb's signal handlers have to
// know which debug function has crashed. free() and the unwinder's functions, which rdb replaces, are called
// by anybody. So there is one pointer, current(), and everything that such code needs hangs from it. Whatever
// is made by rdb itself (a runner, regions, events) is given the session, and does not use current().
//
// One replay at a time has debug code in a process, and with it one session. It must be made before all that
// uses it, and outlive that. Make it with `new`: it has pages of its own, far from the heap, which debug code
// may break.
//
// These are not in it, since no session can hold them:
// - `run`, which the fast path needs at a constant address, is a static member;
// - rdb_has_avx in call_frame.cc is read by assembly code, and is a fact about the CPU;
// - stdout_buffer() outlives every session, as stdout does;
// - tables that never change once they are filled (module_host(), functions of the libraries by name).
#pragma once

#include "rdbtool/debug/isolation/abort_debug_code.h"
#include "rdbtool/debug/isolation/captured_stack.h"
#include "rdbtool/debug/isolation/guest_libc.h"
#include "rdbtool/debug/isolation/module_code.h"

#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace rdb::debug {

class Bundle;
class EventApi;
class HardwareWatches;
class ModuleThreadLocals;
class NestedCalls;
class RegionRunner;

class DebugSession {
public:
  DebugSession();
  ~DebugSession();
  DebugSession(const DebugSession&) = delete;
  DebugSession& operator=(const DebugSession&) = delete;
  static void* operator new(size_t size);
  static void operator delete(void* memory, size_t size);

  // Null while there is none.
  static DebugSession* current() { return current_; }

  // Of the process, and not in the session's memory: its address is a constant. To load it for every hit
  // costs a region in the guest's context some 2 of 50 nanoseconds.
  static inline constinit CurrentRun run;

  LastAbort last_abort = {};
  StackRoom abort_stack;        // for last_abort
  StackRoom stray_stack;        // for the first stray write of a run: see WriteGuard
  std::span<NotedThrow> throws; // see captured_stack.cc

  GuestLibc libc;
  ModuleCode modules;
  std::set<int> own_files; // descriptors that were open before debug code came

  // Parts that debug code reaches through its table, and signal handlers. Each puts itself here.
  RegionRunner* runner = nullptr;
  NestedCalls* nested_calls = nullptr;
  EventApi* events = nullptr;
  std::vector<ModuleThreadLocals*> thread_locals;
  HardwareWatches* hardware_watches = nullptr; // those that are set: see after_fork()

  Bundle* loading = nullptr;          // whose module's constructors run now
  bool* loading_unfinished = nullptr; // shared with the process that waits for them, if one does
  // The constructors have come to an end, or the user was told why not.
  void end_loading() {
    if (loading_unfinished != nullptr) *loading_unfinished = false;
  }

  // For all that is printed: what debug code has printed is shown even if it breaks the heap after that.
  static std::span<char> stdout_buffer();

private:
  static inline constinit DebugSession* current_ = nullptr;
};

} // namespace rdb::debug
