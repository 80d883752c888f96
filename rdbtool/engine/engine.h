// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host interface: all that rdb needs from an instrumentation engine. Nothing here says how guest code is
// executed, so that another engine (Intel Pin, a single-stepper) can stand behind it.
//
// One guest thread is loaded at a time. Its owner sets registers() and calls run() in a loop: run() executes
// guest code and comes back at an exact place with the reason (Stop), the owner does what that asks for
// (carries out the system call, delivers the signal, looks at memory, loads another thread), and calls it
// again. executed() is the clock: it counts every guest instruction once, however it was executed.
#pragma once

#include "rdbtool/base/types.h"

#include <csignal>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace rdb::engine {

// General registers in the order of their encoding.
enum Gpr : uint8_t { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

struct Registers {
  uint64_t gpr[16] = {};
  uint64_t rip = 0;
  uint64_t rflags = 0x202;
  uint64_t fs_base = 0;
  uint64_t gs_base = 0;
  // Flags that the guest has set and the CPU has not: AC, which would make the host's accesses fault too.
  uint64_t kept_flags = 0;

  static constexpr uint64_t kAlignmentCheck = 1 << 18;
  // Set in what a handler sees of an instruction that has faulted. It is gone when the next one is executed.
  static constexpr uint64_t kResume = 1 << 16;
  // As the guest sees them.
  uint64_t flags() const { return rflags | kept_flags; }
  void set_flags(uint64_t flags) {
    rflags = flags & ~kAlignmentCheck;
    kept_flags = flags & kAlignmentCheck;
  }
};

// Addresses between the two halves: no access reaches them, and no branch.
constexpr bool is_canonical(uint64_t address) {
  return address + (1ull << 47) < 1ull << 48;
}

// The page behind all others, whose three functions the kernel emulates for old programs.
inline constexpr uint64_t kVsyscallPage = 0xFFFFFFFFFF600000;
constexpr bool is_in_vsyscall_page(uint64_t address) {
  return address >> 12 == kVsyscallPage >> 12;
}

// x87, SSE, AVX (and AVX-512) state in the standard, non-compacted XSAVE layout.
// Its size depends on the CPU: see Engine::vector_size().
using VectorImage = std::span<std::byte>;

enum class StopReason : uint8_t {
  limit,       // the requested number of instructions was executed
  system_call, // the syscall instruction was executed (and counted); rip is behind it, rcx and r11 are set
  input,   // before an instruction whose result comes from outside (rdtsc, cpuid ...): see InputInstruction
  address, // before an instruction at which a stop was requested
  access,  // before an instruction that touches a watched range
  written, // behind one that wrote to a watched range, if the engine tells of it so: `access` has its pc
  fault,   // an instruction raised a synchronous signal; rip is where the kernel would report it
  interrupted, // interrupt() was called
};

// Instructions whose result is an input. The owner executes them, or answers from a log, with
// Engine::finish_input().
enum class InputInstruction : uint8_t { none, rdtsc, rdtscp, cpuid, rdrand, rdseed, rdpid, xgetbv };

// What the kernel would tell the guest's signal handler.
struct Fault {
  int signal = 0;
  siginfo_t info = {};
  uint64_t trap_number = 0; // as in the kernel's sigcontext
  uint64_t error_code = 0;
};

struct Access {
  GuestAddr address;
  uint32_t size = 0;
  bool write = false;
};

// Why run() came back. The other members belong to one reason each.
struct Stop {
  StopReason reason = StopReason::limit;
  InputInstruction input = InputInstruction::none;
  Fault fault;
  Access access;
};

// The guest's memory as the engine needs it. The owner of the address space implements this.
class GuestMemory {
public:
  virtual ~GuestMemory() = default;
  // Copies as much as the guest itself could; the number of bytes done.
  virtual size_t read(GuestAddr from, void* to, size_t size) = 0;
  virtual size_t write(GuestAddr to, const void* from, size_t size) = 0;
  // Copies what the guest may execute, up to the first byte that it could not fetch; the number of bytes
  // done.
  virtual size_t read_code(GuestAddr from, void* to, size_t size) = 0;
  // The engine is about to translate code of this page. From now on the owner notices writes to it and calls
  // Engine::invalidate(); or, where there are too many of them, leaves it to the engine to compare.
  enum class CodeWatch : uint8_t { noticed, compare };
  virtual CodeWatch watch_code_page(GuestAddr page) = 0;
};

// Carries out a system call without leaving guest code: see Engine::set_fast_syscall().
struct FastSyscall {
  // Done: true, with the result in rax. False: run() returns StopReason::system_call as without it.
  bool (*function)(void* context, Registers& registers, uint64_t executed) = nullptr;
  void* context = nullptr;
};

struct Statistics {
  uint64_t blocks = 0;        // basic blocks translated
  uint64_t superblocks = 0;   // hot paths translated
  uint64_t translated = 0;    // guest instructions translated, all flavours
  uint64_t host_entries = 0;  // times guest code was left for the host
  uint64_t fast_syscalls = 0; // system calls that did not need that
  uint64_t indirect_misses = 0;
  uint64_t flushes = 0;
  uint64_t cache_bytes = 0;
  uint64_t peak_cache_bytes = 0;
  uint64_t translate_ns = 0;
};

class Engine {
public:
  virtual ~Engine() = default;

  // The loaded thread. Valid, and may be changed, while run() is not active. To load another thread is to
  // change them all. Memory needs no functions: guest addresses are addresses of this process.
  virtual Registers& registers() = 0;
  virtual size_t vector_size() const = 0;
  virtual void read_vectors(VectorImage image) = 0;
  virtual void write_vectors(std::span<const std::byte> image) = 0;

  // Runs until exactly `limit` more instructions are done or something else stops it first. A string
  // instruction with a `rep` prefix is one instruction. A stop at the first instruction is passed if the
  // owner has dealt with it; an access that was just reported is passed in any case.
  enum class FirstStop : uint8_t { passed, kept };
  virtual Stop run(uint64_t limit, FirstStop first = FirstStop::passed) = 0;

  // Guest instructions executed through this engine since it was made.
  virtual uint64_t executed() const = 0;

  // After StopReason::input: the instruction is done with this result and counted.
  // rax, rbx, rcx, rdx are written as the instruction does; `carry` is for rdrand and rdseed.
  struct InputResult {
    uint64_t rax = 0, rbx = 0, rcx = 0, rdx = 0;
    bool carry = false;
  };
  virtual InputResult execute_input() = 0; // really executes it, on this CPU
  virtual void finish_input(const InputResult& result) = 0;

  // Offers every system call to this function first, where that saves time. It runs with the guest's vector
  // registers and FS base: it must be compiled with -mgeneral-regs-only and without stack protector, and use
  // nothing thread-local. Of the registers it may use and change the general ones; `executed` is what
  // executed() would say.
  virtual void set_fast_syscall(FastSyscall fast) = 0;

  // Stop before the instruction at this address, every time.
  virtual void add_stop(GuestAddr address) = 0;
  virtual void remove_stop(GuestAddr address) = 0;

  // Stop before any instruction that touches one of these ranges. The instruction itself is executed by the
  // next run().
  virtual void add_watch(GuestAddr address, uint64_t size, bool reads, bool writes) = 0;
  virtual void clear_watches() = 0;

  // Guest code in this range changed, went away, or may no longer be executed.
  virtual void invalidate(GuestAddr begin, uint64_t size) = 0;

  // Makes run() return soon, at an instruction boundary. May be called from a signal handler, with that
  // handler's ucontext; null elsewhere.
  virtual void interrupt(void* ucontext) = 0;
  // From within FastSyscall::function, which does the call: run() stops after it, as if interrupt() had been
  // called.
  virtual void stop_after_fast_call() = 0;

  // To be called first by the owner's handler of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGTRAP. True: the
  // signal came from guest code, and run() will return StopReason::fault with the guest's exact state.
  virtual bool handle_signal(int signal, siginfo_t* info, void* ucontext) = 0;

  virtual const Statistics& statistics() const = 0;
};

} // namespace rdb::engine
