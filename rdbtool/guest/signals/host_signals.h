// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's side of signals: handlers that find the host's world again when a signal interrupts translated
// code, and a system call that a signal can always prevent from blocking.
#pragma once

#include "rdbtool/engine/translator.h"

#include <csignal>
#include <cstdint>

namespace rdb::guest {

// Raised by instructions; the host must always be able to take them.
inline constexpr uint64_t kSynchronousSignals = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) |
                                                1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) |
                                                1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1);

// Receives what the kernel delivers; called on the host's signal stack with the host's segments.
class SignalReceiver {
public:
  virtual ~SignalReceiver() = default;
  // A synchronous fault outside of translated code is a bug of rdb: the receiver does not return then.
  virtual void on_fault(int signal, siginfo_t* info, void* context) = 0;
  virtual void on_asynchronous(int signal, siginfo_t* info, void* context) = 0;
};

// Every OS thread that runs guest code has a stack for the host's handlers.
class SignalStack {
public:
  SignalStack(); // in use from here on
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

private:
  void* memory_;
};

// Sets up this OS thread's signal stack, for good, and the handlers of the synchronous signals.
void install_host_signals(engine::Translator& translator, SignalReceiver& receiver);

// One more engine that runs guest code in this thread: it is given the faults of its own code. A few at most.
void add_host_signals(engine::Translator& translator);
void remove_host_signals(const engine::Translator& translator);

// A synchronous signal in rdb's own code: says so and ends the process.
[[noreturn]] void report_host_fault(int signal, const siginfo_t* info, const void* context, uint64_t guest_pc,
                                    uint64_t executed);

// Makes the kernel deliver (or ignore, or act on by default) an asynchronous signal as the guest wishes.
enum class Disposition : uint8_t { standard, ignored, received };
void set_disposition(int signal, Disposition disposition, uint64_t guest_flags);

// Whether the kernel begins a call again that a CallAlarm has ended; at first it does not.
void set_restart_after_alarm(bool restart);

// Like raw_syscall, but returns kNotStarted if a signal was received after `pending` was last known to be
// false and before the kernel was entered.
inline constexpr int64_t kNotStarted = -4096;
int64_t interruptible_syscall(const volatile bool* pending, int64_t number, const int64_t arguments[6]);

// Copies up to the first byte that this process cannot read; the number of bytes done. The way to read a page
// that may not be there without a system call.
size_t copy_until_fault(void* to, const void* from, size_t size);

} // namespace rdb::guest
