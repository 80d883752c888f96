// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/lockstep.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/memory_hash.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <cstring>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr uint64_t kStackWindow = 64 * 1024; // compared every time, below and above rsp
constexpr uint64_t kManyInstructions = 2'000'000;
constexpr size_t kMostPages = 1 << 20;
constexpr size_t kVectorRoom = 16384;

// What a piece of the run has led to. Lies in memory that both processes share.
struct Outcome {
  uint32_t ready = 0;    // the copy has filled in the rest
  uint32_t released = 0; // the copy may go
  char failure[512] = {};
  engine::StopReason reason = {};
  engine::InputInstruction input = {};
  int signal = 0;
  int code = 0;
  uint64_t fault_address = 0;
  uint64_t trap_number = 0;
  uint64_t error_code = 0;
  uint64_t executed = 0;
  engine::Registers registers;
  std::byte vectors[kVectorRoom] = {};
  size_t pages = 0;
  PageHash page[kMostPages];
};

class Shared {
public:
  Shared() {
    void* memory = mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("lockstep: no memory for the comparison");
    outcome_ = static_cast<Outcome*>(memory);
  }
  ~Shared() { munmap(outcome_, sizeof(Outcome)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  Outcome* operator->() { return outcome_; }
  Outcome& operator*() { return *outcome_; }

private:
  Outcome* outcome_;
};

// No asynchronous signal while a piece runs: it would end the piece early in one of the two.
class SignalsHeld {
public:
  SignalsHeld() {
    uint64_t all = ~kSynchronousSignals;
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&all),
                reinterpret_cast<int64_t>(&old_), 8);
  }
  ~SignalsHeld() { raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&old_), 0, 8); }

private:
  uint64_t old_ = 0;
};

void wait_for(uint32_t& word, const timespec* timeout) {
  raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word), FUTEX_WAIT, 0, reinterpret_cast<int64_t>(timeout));
}

void set(uint32_t& word) {
  __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
  raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word), FUTEX_WAKE, 1);
}

// The copy. It is a child without a signal at its end, so that the guest's own waits never see it.
class Copy {
public:
  Copy(int64_t pid, Shared& shared) : pid_(pid), shared_(shared) {}
  ~Copy() {
    if (pid_ > 0) set(shared_->released);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  void wait_until_ready() {
    const timespec second{1, 0};
    while (!__atomic_load_n(&shared_->ready, __ATOMIC_SEQ_CST)) {
      wait_for(shared_->ready, &second);
      int status = 0;
      if (raw_syscall(SYS_wait4, pid_, reinterpret_cast<int64_t>(&status), WNOHANG | __WCLONE) == pid_) {
        pid_ = 0;
        throw std::runtime_error(
            fmt::format("lockstep: the stepping engine ended with status {:#x}", status));
      }
    }
  }
  pid_t pid() const { return static_cast<pid_t>(pid_); }

private:
  int64_t pid_;
  Shared& shared_;
};

void fill(Outcome& out, Machine& machine, const engine::Stop& stop, PageChoice choice) {
  out.reason = stop.reason;
  out.input = stop.input;
  if (stop.reason == engine::StopReason::fault) {
    out.signal = stop.fault.signal;
    out.code = stop.fault.info.si_code;
    out.fault_address = reinterpret_cast<uint64_t>(stop.fault.info.si_addr);
    out.trap_number = stop.fault.trap_number;
    out.error_code = stop.fault.error_code;
  }
  out.executed = machine.engine().executed();
  out.registers = machine.registers();
  RDB_CHECK(machine.engine().vector_size() <= kVectorRoom);
  machine.engine().read_vectors({out.vectors, machine.engine().vector_size()});
  out.pages = hash_pages(machine.space(), choice, out.page, kMostPages);
}

[[noreturn]] void run_copy(Machine& machine, Shared& shared, uint64_t limit, bool whole) {
  try {
    detach_shared(machine.space());
    machine.translator().set_step_only(true);
    engine::Stop stop = machine.run_guest(limit);
    fill(*shared, machine, stop, {whole, machine.registers().gpr[engine::RSP], kStackWindow});
  } catch (const std::exception& error) {
    std::snprintf(shared->failure, sizeof shared->failure, "%s", error.what());
  }
  set(shared->ready);
  while (!__atomic_load_n(&shared->released, __ATOMIC_SEQ_CST))
    wait_for(shared->released, nullptr);
  _exit(0);
}

[[noreturn]] void differ(const Outcome& found, const std::string& what) {
  throw std::runtime_error(fmt::format("lockstep: after {} instructions, at {:#x}: {}", found.executed,
                                       found.registers.rip, what));
}

void compare_number(const Outcome& found, const std::string& name, uint64_t expected, uint64_t value) {
  if (expected != value)
    differ(found, fmt::format("{} is {:#x}, stepping gives {:#x}", name, value, expected));
}

void compare_memory(const Outcome& expected, const Outcome& found, pid_t copy) {
  if (expected.pages == found.pages &&
      std::memcmp(expected.page, found.page, found.pages * sizeof(PageHash)) == 0)
    return;
  for (size_t i = 0, j = 0; i < expected.pages || j < found.pages;) {
    uint64_t there = i < expected.pages ? expected.page[i].address : UINT64_MAX;
    uint64_t here = j < found.pages ? found.page[j].address : UINT64_MAX;
    if (there == here && expected.page[i].hash == found.page[j].hash) {
      ++i, ++j;
      continue;
    }
    uint64_t page = std::min(there, here);
    FirstDifference first = first_difference(copy, page);
    differ(found, fmt::format("the byte at {:#x} is {:#x}, stepping gives {:#x}", first.address, first.own,
                              first.other));
  }
}

void compare(const Outcome& expected, const Outcome& found, size_t vector_size, pid_t copy) {
  static constexpr const char* kNames[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                             "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (expected.executed != found.executed || expected.reason != found.reason)
    differ(found,
           fmt::format("it stops for reason {} (signal {} at {:#x}); stepping goes on to {} instructions "
                       "and {:#x} and stops for reason {} (signal {} at {:#x})",
                       static_cast<int>(found.reason), found.signal, found.fault_address, expected.executed,
                       expected.registers.rip, static_cast<int>(expected.reason), expected.signal,
                       expected.fault_address));
  compare_number(found, "rip", expected.registers.rip, found.registers.rip);
  for (size_t i = 0; i < 16; ++i)
    compare_number(found, kNames[i], expected.registers.gpr[i], found.registers.gpr[i]);
  compare_number(found, "rflags", expected.registers.flags(), found.registers.flags());
  compare_number(found, "the FS base", expected.registers.fs_base, found.registers.fs_base);
  compare_number(found, "the GS base", expected.registers.gs_base, found.registers.gs_base);
  compare_number(found, "the signal", static_cast<uint64_t>(expected.signal),
                 static_cast<uint64_t>(found.signal));
  compare_number(found, "the signal's code", static_cast<uint64_t>(expected.code),
                 static_cast<uint64_t>(found.code));
  compare_number(found, "the address of the fault", expected.fault_address, found.fault_address);
  compare_number(found, "the trap number", expected.trap_number, found.trap_number);
  compare_number(found, "the error code", expected.error_code, found.error_code);
  for (size_t i = 0; i < vector_size; ++i)
    compare_number(found, fmt::format("byte {} of the vector state", i),
                   static_cast<uint64_t>(expected.vectors[i]), static_cast<uint64_t>(found.vectors[i]));
  compare_memory(expected, found, copy);
}

} // namespace

// Pieces of all lengths: short ones for the ends, long ones for the code that only gets hot in time.
uint64_t Lockstep::next_length() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  // A long run is not compared in ever so many pieces: each costs a fork.
  uint64_t sizes = machine_.engine().executed() < kManyInstructions ? 16 : 20;
  uint64_t largest = 64ull << (random_ >> 8) % sizes;
  return 1 + (random_ >> 16) % largest;
}

engine::Stop Lockstep::run(uint64_t limit) {
  uint64_t length = std::min(limit, next_length());
  // The last copy has had the time to end; nobody waits for that.
  if (last_copy_ != 0) raw_syscall(SYS_wait4, last_copy_, 0, __WCLONE);
  // Comparing all of memory should cost no more than stepping does.
  bool whole = since_whole_ >= memory_size_ / 16;
  SignalsHeld held;
  Shared expected;
  int64_t pid = raw_syscall(SYS_clone, 0);
  if (pid == 0) run_copy(machine_, expected, length, whole);
  if (pid < 0) throw std::runtime_error("lockstep: cannot fork");
  last_copy_ = pid;
  Copy copy(pid, expected);
  // Both run at once, unless memory that they share must first be copied.
  if (has_shared(machine_.space())) copy.wait_until_ready();
  uint64_t before = machine_.engine().executed();
  engine::Stop stop = machine_.run_guest(length);
  copy.wait_until_ready();
  if (expected->failure[0] != 0) throw std::runtime_error(expected->failure);
  Shared found;
  fill(*found, machine_, stop, {whole, expected->registers.gpr[engine::RSP], kStackWindow});
  compare(*expected, *found, machine_.engine().vector_size(), copy.pid());
  since_whole_ += machine_.engine().executed() - before;
  if (whole) {
    since_whole_ = 0;
    memory_size_ = found->pages * kPage;
  }
  return stop;
}

} // namespace rdb::guest
