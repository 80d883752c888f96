// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a function once more, exactly as the guest would from its first instruction on, and undoes it.
//
// The guest has come to the entry of a function. What will the function do: what does it write, what does it
// return, how many instructions does it take, whom does it call? Or: what would another function do in its
// place, its twin, compiled from the same source? Both are answered by running it in a second engine, with
// the guest's registers, on the guest's stack, with the return address that is there. The run ends when the
// guest would be back at that address with the stack as after a return; so it does not matter whether the
// function returns itself, or jumps to another that does. All stores stand in the undo log, and at the end
// they are played back. The recorded run has not noticed anything.
//
// Nothing from outside can be repeated: a system call, rdtsc and the like end the run, by name; so do faults,
// a stack that would have to grow, and a limit. What the program's memory is watched for, hooks, events and
// stops of a debugger are the first engine's, and not heard of here.
//
// Two kinds of addresses mean something to the one who runs:
// - entries of functions are noted when they are executed: arguments and time. This is a hook in translated
//   code, so that thousands of functions can be watched;
// - at stubs the host acts in place of code: a function of the host is called, and then the guest goes on
//   where the stub was called from. A stub is an address of rdb's own where nothing else is, or the entry of
//   a function of the program for which the host answers at times.
// Addresses are watched for all runs, and stubs are there for all runs, since code is translated with them.
//
// A stub may run debug code. That has its own calls of guest functions and its own writes to the program's
// memory (NestedCalls), which share this engine and its log: run_debug_code() puts the registers aside
// meanwhile, and what debug code does is undone up to a mark in the log when it ends, while the stores of the
// run around it stay.
#pragma once

#include "rdbtool/debug/isolation/nested_engine.h"
#include "rdbtool/debug/nested/byte_set.h"
#include "rdbtool/debug/nested/nested_state.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rdb::debug {

enum class NestedOutcome : uint8_t {
  returned,
  // What came from outside, so that the answer would be needed.
  system_call, // `reason` is its name
  input,       // an instruction: `reason` is its name
  // What will not go on.
  left, // by longjmp or an exception: it was further out on the stack when something else ended it
  fault,
  stack_growth, // it would be none natively: the stack grows
  limit,        // of instructions
  log_full,     // it has written more memory than can be undone
  host_memory,  // it has written to memory of rdb's
  refused,      // by a stub
  unsupported,  // by the engine
};

const char* name_of(NestedOutcome outcome);

struct NestedRunOptions {
  uint64_t limit = 200'000'000;   // instructions
  size_t most_entries = 1u << 20; // of watched functions; more end the run as the limit does
  // Whether what was written below the stack pointer that the function leaves behind is told, too.
  bool keeps_dead_stack = false;
  bool keeps_stores = false;
  bool hashes_stores = false;
};

// A watched function was entered.
struct NestedEntry {
  uint64_t address = 0;
  uint64_t offset = 0;      // instructions since the run began
  uint64_t integer[6] = {}; // rdi rsi rdx rcx r8 r9
  uint64_t vector[8] = {};  // the lower halves of xmm0-7
  uint64_t rsp = 0;
};

struct NestedStore {
  uint64_t address = 0;
  uint64_t size = 0;
};

struct NestedResult {
  NestedOutcome outcome = NestedOutcome::returned;
  std::string reason; // empty if it has returned
  uint64_t executed = 0;
  uint64_t answered = 0; // of these, cpuid and xgetbv, whose results are inputs for a recording
  engine::Registers registers;
  std::byte vector[2][32] = {}; // ymm0 and ymm1
  X87Results x87;

  // The rest is there if it has returned.
  // Memory of the program that it has written: ascending, and what the run leaves there, one range after the
  // other.
  std::vector<ByteRange> written;
  std::vector<uint8_t> bytes;
  // The bytes that it has read before it has written there. If the engine logs loads.
  std::vector<ByteRange> read_first;
  std::vector<NestedEntry> entries;
  std::vector<NestedStore> stores; // on request, one by one; also those to rdb's own code and the dead stack
  // On request: two runs that store the same values to the same addresses in the same order have the same.
  uint64_t store_hash = 0;
};

class NestedRun {
public:
  // One for an engine.
  explicit NestedRun(NestedEngine& engine);
  ~NestedRun();
  NestedRun(const NestedRun&) = delete;
  NestedRun& operator=(const NestedRun&) = delete;

  // Entries of this function are told, but for the entry with which a run begins.
  void watch(uint64_t address);
  // The function finds registers() as code there would, and may change them. If it does not change rip, the
  // guest returns to where the stub was called from. False: it has not acted, and what is there is executed.
  using Stub = std::function<bool()>;
  void add_stub(uint64_t address, Stub stub);

  // `entry`: the guest's state where the function begins, but for the function itself, which is at `pc`. The
  // CPU holds that state's x87 part, and does again afterwards. `result` keeps its memory between runs.
  NestedOutcome run(const NestedState& entry, uint64_t pc, const NestedRunOptions& options,
                    NestedResult& result);

  // For stubs.
  engine::Registers& registers() { return engine_.registers(); }
  // Instructions since the run began.
  uint64_t executed() const { return done_ + (engine_.executed() - slice_begin_); }
  // Watched functions that were entered until now.
  std::span<const NestedEntry> entries() const { return {entries_.data(), entry_count_}; }
  // The run ends here.
  void refuse(const std::string& reason) { end(NestedOutcome::refused, reason); }
  // Runs code that may use this engine itself, and undoes what it logs.
  void run_debug_code(const std::function<void()>& code);

  bool is_active() const { return options_ != nullptr; }

private:
  struct Point {
    bool is_entry = false;
    bool is_return = false;
  };

  void play();
  void hook(uint64_t address, bool Point::* role);
  static void at_hook(void* self, void* point, uint64_t pc);
  // The same with the guest's FS base and vector registers. False: only at_hook() can do it.
  static bool at_hook_fast(void* self, void* point, uint64_t pc);
  void write_entry(NestedEntry& entry, uint64_t pc) const;
  void note_entry(uint64_t pc);
  bool is_back() const;
  bool has_left() const;
  void note_return();
  void end(NestedOutcome outcome, const std::string& reason);
  uint64_t instructions_with_room();
  engine::Stop run_slice(uint64_t most);
  void deal_with(const engine::Stop& stop);
  void deal_with_stub();
  void deal_with_input(const engine::Stop& stop);
  void deal_with_fault(const engine::Fault& fault);
  bool stack_would_grow(uint64_t address) const;
  void digest_log();
  void collect();
  void leave_out(const ByteRange& hole);
  void put_back();

  NestedEngine& nested_;
  engine::Translator& engine_;
  std::unordered_map<uint64_t, Point> points_;
  std::unordered_map<uint64_t, Stub> stubs_;

  // Of the run that is under way.
  const NestedRunOptions* options_ = nullptr;
  NestedResult* result_ = nullptr;
  uint64_t back_ = 0;    // the return address
  uint64_t back_sp_ = 0; // the stack pointer there
  uint64_t done_ = 0;    // instructions in earlier slices
  uint64_t slice_begin_ = 0;
  std::vector<NestedEntry> entries_; // room for them
  NestedEntry* entry_begin_ = nullptr;
  size_t entry_room_ = 0; // of that, what the options allow
  size_t entry_count_ = 0;
  bool running_ = false; // the engine is, with the run's code
  bool ended_ = false;
  UndoLog::Mark end_mark_; // where the log was when it had returned
  size_t digest_at_ = 0;   // entries of the log
  size_t digested_ = 0;
  bool wrote_to_host_ = false;
  ByteSet written_; // of the log that was digested
  ByteSet read_first_;
  std::unique_ptr<NestedState> put_aside_;
};

} // namespace rdb::debug
