// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What enters a recorded program from outside. Every input has a kind, a thread, a position and a payload
// struct of its own; any input may also carry memory writes. The program side appends these payloads
// (log_producer.h), the reader hands the same ones out (reader.h); the bytes on disk are record_codec.h's
// affair.
#pragma once

#include "rdbtool/base/memory_write.h"
#include "rdbtool/base/types.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace rdb::trace {

// The general registers at a process's start, in the order of the instruction encoding (rax, rcx, rdx, rbx,
// rsp, rbp, rsi, rdi, r8 ... r15). The kernel starts a program with vector state in its initial
// configuration, so that is not stored.
struct StartRegisters {
  uint64_t gpr[16] = {};
  uint64_t rip = 0;
  uint64_t rflags = 0;
  uint64_t fs_base = 0;
  uint64_t gs_base = 0;
  bool operator==(const StartRegisters&) const = default;
};

// The key of a file in the trace's store: XXH64 of its bytes (long runs of zeros are marked), and their
// number.
struct ContentId {
  uint64_t hash = 0;
  uint64_t size = 0;
  auto operator<=>(const ContentId&) const = default;
};

enum class InputKind : uint8_t {
  start = 1,       // a process image begins; always the first record of a log
  syscall = 2,     // a system call completed
  signal = 3,      // a signal is delivered
  instruction = 4, // an instruction whose result is not a function of guest state (rdtsc, cpuid ...)
  memory = 5,      // memory changed for another reason, or the rest of the input before (see Input::more)
  map = 6,         // the address space changed: what rdb really did, in either world
  checksum = 7,    // hashes of guest state, to compare on replay
  output = 8,      // bytes that left for a terminal without passing through guest memory
  thread_start = 9,
  thread_end = 10,
  exit = 11,    // the process is over; the last record of a complete log
  partial = 12, // an instruction did part of its work before it faulted; its signal follows
};

enum class ProcessOrigin : uint8_t {
  spawned = 1, // by rdb record itself
  forked = 2,  // memory is the parent's at parent_time
  execed = 3,  // the same pid with a new program
};

// The initial state. The stack image (arguments, environment, auxv, strings) is in the writes.
struct StartInput {
  ProcessOrigin origin = ProcessOrigin::spawned;
  int32_t pid = 0;
  int32_t parent_pid = 0;
  Time parent_time; // when the parent forked, or when this pid called execve; 0 if spawned
  StartRegisters registers;
  GuestAddr auxv;         // where the auxiliary vector lies in the stack image
  uint64_t auxv_size = 0; // in bytes, with its AT_NULL
  GuestAddr brk;          // initial program break
  uint64_t blocked = 0;   // signals, as masks: what the program finds blocked and ignored
  uint64_t ignored = 0;
  std::string_view program; // path of the executable
};

// Where the bytes that a call was given went. With a stream named, replay shows them.
enum class OutputStream : uint8_t { none = 0, standard_output = 1, standard_error = 2, terminal = 3 };

struct SyscallInput {
  uint32_t number = 0;
  OutputStream output = OutputStream::none; // of the bytes that the call took from guest memory
  bool checks_data = false;                 // `hash` is about these bytes, too
  int64_t result = 0;
  // To compare on replay: over arguments and registers at the call. With checks_data that in the lower half,
  // and in the upper half one over the bytes that the call has read, as they are when the call is logged.
  uint64_t hash = 0;
};

enum class SignalOutcome : uint8_t {
  handler = 1, // a frame is built and the guest's handler runs
  fatal = 2,   // the default action ends the process
  ignored = 3, // noted only
};

struct SignalInput {
  int32_t number = 0;
  SignalOutcome action = SignalOutcome::handler;
  bool synchronous = false;  // a fault of the instruction at this time
  GuestAddr handler;         // kHandler: the guest's function
  GuestAddr frame;           // kHandler: lowest address of the frame
  uint32_t xsave_size = 0;   // kHandler: size of the extended state in the frame
  uint64_t action_flags = 0; // sa_flags
  uint64_t mask = 0;         // signals blocked before the delivery
  uint64_t trap_number = 0;  // synchronous: as in the frame's context, likewise the next two
  uint64_t error_code = 0;
  GuestAddr fault_address;
  uint64_t hash = 0;         // over all registers before the delivery, to compare on replay
  uint8_t siginfo[128] = {}; // as the kernel gave it
};

// An instruction that faulted after it had done part of its work: a string instruction that repeats, a
// gather, a store that crosses into a page that cannot be written. Memory that it wrote is in the writes,
// except that of a string instruction: that follows from how far its registers say it came.
struct PartialInput {
  uint64_t gpr[16] = {}; // at the fault
  uint64_t rflags = 0;
  std::span<const uint8_t> vectors; // the extended state in XSAVE layout; empty if it cannot have changed
};

enum class InstructionOp : uint8_t {
  rdtsc = 1,  // values: tsc
  rdtscp = 2, // tsc, aux
  rdpid = 3,  // id
  cpuid = 4,  // eax, ebx, ecx, edx
  rdrand = 5, // value, carry flag
  rdseed = 6, // value, carry flag
  xgetbv = 7, // value
  rdpmc = 8,  // value
  rdpru = 9,  // value
  other = 10,
};

struct InstructionInput {
  InstructionOp op = InstructionOp::other;
  uint8_t count = 0; // how many of the values count
  uint64_t values[4] = {};
};

struct MemoryInput {}; // everything is in the writes

enum class MapOp : uint8_t {
  map = 1,           // address, length, protection, flags, and a file or none
  unmap = 2,         // address, length
  protect = 3,       // address, length, protection
  remap = 4,         // old_address, old_length -> address, length
  advise = 5,        // address, length, flags = advice
  program_break = 6, // address = new program break
  share = 7,         // what is mapped there is from now on a view of `object`, at `offset` in it
  view = 8,          // like map, of `object`: a file is not in the trace for it
};

// An advice that no kernel knows: nothing has changed, but programs outside the recording have written to the
// file of this path, which is mapped. What the program has seen of that is not in the log.
inline constexpr uint32_t kWrittenOutside = 0x52440001;

struct MapInput {
  MapOp op = MapOp::map;
  uint8_t protection = 0; // PROT_*
  uint32_t flags = 0;     // MAP_* or the advice
  GuestAddr address;
  uint64_t length = 0;
  GuestAddr old_address;
  uint64_t old_length = 0;
  bool has_file = false;
  uint64_t object = 0;   // of share and view: memory that is mapped at several places
  uint64_t offset = 0;   // in the file or the object
  ContentId file;        // in the trace's store
  std::string_view path; // what the file was called; shown, never opened
};

struct ChecksumInput {
  uint64_t memory = 0;
  uint64_t registers = 0;
  uint64_t pages = 0; // that went into `memory`
};

struct OutputInput {
  OutputStream stream = OutputStream::standard_output;
  std::span<const uint8_t> bytes;
};

// Logged by the creating thread.
struct ThreadStartInput {
  ThreadId created;
  GuestAddr stack;
  GuestAddr tls;
  uint64_t clone_flags = 0;
};

struct ThreadEndInput {
  int32_t status = 0;
};

struct ExitInput {
  bool by_signal = false;
  int32_t status = 0; // exit status, or the signal's number
};

using Payload = std::variant<std::monostate, StartInput, SyscallInput, SignalInput, InstructionInput,
                             MemoryInput, MapInput, ChecksumInput, OutputInput, ThreadStartInput,
                             ThreadEndInput, ExitInput, PartialInput>;

// One record of an input log.
struct Input {
  Position at;
  ThreadId thread;
  Payload payload;
  std::span<const MemoryWrite> writes; // to apply, in this order
  // An input too large for one record goes on in kMemory (or kOutput) records of the same position, thread
  // and cause. `more`: the next record belongs to this input. `continued`: this one belongs to the one
  // before. A reader never hands out the head of an input whose rest is missing.
  bool more = false;
  bool continued = false;

  InputKind kind() const { return static_cast<InputKind>(payload.index()); }
  template <class T>
  const T& as() const {
    return std::get<T>(payload);
  }
};

// One thread's turn.
struct Chunk {
  ThreadId thread;
  uint64_t instructions = 0;
  bool operator==(const Chunk&) const = default;
};

const char* name_of(InputKind kind);
const char* name_of(InstructionOp op);
const char* name_of(MapOp op);
const char* name_of(ProcessOrigin origin);

} // namespace rdb::trace
