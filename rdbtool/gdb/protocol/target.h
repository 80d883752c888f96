// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a debugger asks of a recorded run: go forwards or backwards until something happens, go to a position,
// show registers and memory. The server knows nothing else about replaying, so a test can put an array of
// states behind this interface.
//
// A run is a line of positions. At each one the whole program has one state, and one thread executes next
// (`current thread`). Going forwards executes its instruction or applies the next input; going backwards
// undoes the last one. The same position always has the same state.
#pragma once

#include "rdbtool/base/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::gdb {

using Bytes = std::vector<std::byte>;

// One thread's registers.
struct ThreadRegisters {
  // General registers in the order of their encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ... r15.
  std::array<uint64_t, 16> gpr{};
  uint64_t rip = 0;
  uint64_t rflags = 0;
  uint64_t fs_base = 0;
  uint64_t gs_base = 0;
  uint64_t orig_rax = ~uint64_t{0}; // number of the system call the thread is in, else -1
  uint16_t cs = 0x33, ss = 0x2b, ds = 0, es = 0, fs = 0, gs = 0;
  // x87, SSE and AVX in the standard (not compacted) XSAVE layout: 512 bytes as fxsave writes them, the
  // 64-byte header, 256 bytes with the upper halves of ymm0 ... ymm15. Shorter where the CPU has no AVX.
  Bytes vectors;

  bool operator==(const ThreadRegisters&) const = default;
};

struct ThreadInfo {
  ThreadId id;
  std::string name;
};

struct MemoryRegion {
  GuestAddr begin, end;
  int protection = 0; // PROT_*
  uint64_t offset = 0;
  std::string path; // of the file, as the program knew it; or "[stack]" and the like; may be empty
};

enum class Direction : uint8_t { forward, backward };

// A condition as gdb compiled it (see agent_expression.h). It is data so that it can be evaluated next to the
// program's state instead of a round trip away from it.
using AgentBytecode = Bytes;

// Reached when the current thread is about to execute this address.
struct Breakpoint {
  GuestAddr address;
  std::vector<AgentBytecode> conditions; // stop if there are none, or one of them is true
};

enum class WatchKind : uint8_t { write, read, access };

// Triggered by the instruction, or the input, that touches the range. A run stops on its far side: after it
// when going forwards, before it when going backwards.
struct Watchpoint {
  GuestAddr address;
  uint64_t size = 0;
  WatchKind kind = WatchKind::write;
};

// Which system calls stop a run, at their entry and at their return.
struct SyscallCatch {
  bool enabled = false;
  std::vector<int64_t> numbers; // empty: all
  bool catches(int64_t number) const;
};

// Everything that stops a run other than its own end.
//
// A breakpoint stops a run at the position before its instruction. Going forwards, the position at which the
// run starts counts: gdb itself steps off a breakpoint that it has shown, and would miss one on the next
// instruction otherwise. Going backwards it does not count.
// Signals and system calls stop a run when it arrives at their position from either side, and there they
// take precedence over a finished step; the position at which a run starts does not count.
struct StopPoints {
  std::vector<Breakpoint> breakpoints;
  std::vector<Watchpoint> watchpoints;
  SyscallCatch syscalls;
  std::array<bool, 65> silent_signals{}; // by Linux number: delivered without a stop
};

// Somebody who may want a run to end early.
class InterruptSource {
public:
  virtual ~InterruptSource() = default;
  // Becomes readable when requested() should be asked again. -1: never.
  virtual int descriptor() const = 0;
  // True if the run should stop at the next position. Does not block.
  virtual bool requested() = 0;
};

struct RunRequest {
  Direction direction = Direction::forward;
  // If set: stop as soon as this thread has executed one instruction (or had its last one undone). A system
  // call is executed when its result is there, and the start of a signal's handler is a step of its own. The
  // other threads run as they did when recorded.
  std::optional<ThreadId> step;
  // Going forwards, go on stepping while the thread's next instruction is in this range.
  GuestAddr range_begin, range_end;
  const StopPoints* stops = nullptr; // null: none
  InterruptSource* interrupt = nullptr;
  // Called with what the program wrote to its terminal, the first time it is passed going forwards.
  std::function<void(std::string_view)> output;
};

enum class StopKind : uint8_t {
  step,           // the step is done
  breakpoint,     // the thread is about to execute a breakpoint's instruction
  watchpoint,     // see `watch`
  syscall_entry,  // the thread is in system call `number`, its result is not there yet
  syscall_return, // its result is
  signal,         // signal `number` is about to be delivered to the thread
  interrupted,
  history_start, // going backwards: this is the first position
  history_end,   // going forwards: this is the last one
  sought,        // seek() went where it was told
  diversion_end, // in a diversion: what ran there cannot go on; `message` says why
};

struct StopEvent {
  StopKind kind = StopKind::step;
  ThreadId thread;
  int64_t number = 0;
  Watchpoint watch;    // the one that was triggered
  std::string message; // for the user, may be empty
};

// How the recorded program ended.
struct ProgramEnd {
  // Replaced: the process went on with another program.
  enum class Kind : uint8_t { exited, signalled, replaced, cut } kind = Kind::cut;
  int value = 0; // exit status or signal
};
std::string describe(const ProgramEnd& ending);

// A file as it was when it was recorded.
class RecordedFile {
public:
  virtual ~RecordedFile() = default;
  virtual uint64_t size() const = 0;
  // As pread: fewer bytes only at the end.
  virtual size_t read(uint64_t offset, std::span<std::byte> to) = 0;
};

// All members may throw rdb's three kinds of error; the target stays usable after a UserError or a Limit.
class Target {
public:
  virtual ~Target() = default;

  // Where the run is.
  virtual Position position() = 0;
  // True if what comes next is an input that belongs to this same time (a call's result, a signal).
  virtual bool input_pending() = 0;
  virtual ThreadId current_thread() = 0;
  virtual Position first_position() = 0;
  virtual Position last_position() = 0;
  virtual ProgramEnd ending() = 0;
  // Has something gone wrong while it moved? Then there is no use in going on. Damage is none: it is an end.
  virtual bool has_failed() { return false; }
  virtual int32_t pid() = 0;

  // Moving. Outside a diversion.
  virtual StopEvent run(const RunRequest& request) = 0;
  // The position itself if it exists, else the last one before it. If it is interrupted, one on the way.
  virtual StopEvent seek(Position position, InterruptSource* interrupt) = 0;
  StopEvent seek(Position position) { return seek(position, nullptr); }

  // The state here.
  virtual std::vector<ThreadInfo> threads() = 0;
  virtual bool has_thread(ThreadId thread) = 0;
  virtual ThreadRegisters registers(ThreadId thread) = 0;
  // The number of bytes read; stops at the first that the program itself could not read.
  virtual size_t read_memory(GuestAddr from, std::span<std::byte> to) = 0;
  virtual std::vector<MemoryRegion> mappings() = 0;
  // Of all memory that the program can write and all registers: the same position has the same one.
  virtual uint64_t state_hash() = 0;
  // Of the signal that the thread is about to get or got last; all zero if there is none.
  virtual std::array<std::byte, 128> siginfo(ThreadId thread) = 0;

  // The program.
  virtual Bytes auxv() = 0;
  virtual std::string executable() = 0; // absolute path, as it was
  virtual std::vector<std::string> command_line() = 0;
  // Null if the recording has no such file.
  virtual std::unique_ptr<RecordedFile> open_file(const std::string& path) = 0;

  // A diversion: from here on a copy of the program may be written to and run on, with nothing recorded
  // behind it. Reading shows the copy; position() stays. It is thrown away by end_diversion().
  virtual void begin_diversion() = 0;
  virtual void end_diversion() = 0;
  virtual void write_registers(ThreadId thread, const ThreadRegisters& registers) = 0;
  virtual size_t write_memory(GuestAddr to, std::span<const std::byte> from) = 0;
  // Runs one thread, forwards; only breakpoints, signals, steps and interrupts stop it.
  virtual StopEvent run_diversion(ThreadId thread, const RunRequest& request) = 0;
};

} // namespace rdb::gdb
