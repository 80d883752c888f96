// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A real program under ptrace, stopped at the beginning of one of its functions, without address
// randomisation: the source of the recorded runs that the server's tests use.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace rdb::gdb {

class Tracee {
public:
  // Runs `argv` up to `function`. Throws UserError.
  Tracee(const std::vector<std::string>& argv, const std::string& function);
  ~Tracee();
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& program() const { return program_; }

  // What became of a thread that was let go; see wait(2).
  int step(ThreadId thread, int signal);
  void start_step(ThreadId thread, int signal);
  int resume(ThreadId thread, int signal);
  int wait(ThreadId thread);
  // The thread's status if it has changed.
  bool poll(ThreadId thread, int& status);

  ThreadRegisters registers(ThreadId thread) const;
  void set_registers(ThreadId thread, const ThreadRegisters& registers);
  std::array<std::byte, 128> siginfo(ThreadId thread) const;
  ThreadId new_thread(ThreadId creator) const; // after a clone event
  std::string name(ThreadId thread) const;

  size_t read(GuestAddr from, std::span<std::byte> to) const;
  size_t write(GuestAddr to, std::span<const std::byte> from);
  std::vector<MemoryRegion> mappings() const;
  Bytes auxv() const;

private:
  void run_to(GuestAddr address);
  GuestAddr load_base() const;

  pid_t pid_ = -1;
  int memory_ = -1;
  std::string program_;
};

} // namespace rdb::gdb
