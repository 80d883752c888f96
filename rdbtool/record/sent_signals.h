// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals that someone sends to `rdb record` are meant for the program that it records: rdb passes them on.
// But a terminal, a shell and a supervisor often signal a whole group of processes, and the program has got
// its own then. Which of both it was no signal tells; so a process that does nothing else stands beside rdb
// in its group, and a signal that waits for it as well was sent to all.
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <sys/signalfd.h>
#include <sys/types.h>

namespace rdb::record {

class SentSignals {
public:
  // Holds them back from here on.
  SentSignals();
  ~SentSignals();
  SentSignals(const SentSignals&) = delete;
  SentSignals& operator=(const SentSignals&) = delete;

  // What was blocked before.
  const sigset_t& old_mask() const { return old_mask_; }
  // Readable when there is one.
  int fd() const { return fd_; }

  enum class SentTo : uint8_t { rdb, group };
  struct Sent {
    int number = 0;
    pid_t by = 0; // 0: the kernel
    SentTo to = SentTo::rdb;
    bool for_rdb = false; // it is about what rdb itself has done: a write to a closed pipe, for example
    bool again = false; // it follows another at once: who signals rdb and its group (timeout does) means one
  };
  std::optional<Sent> take();

private:
  void drop() const;
  void replace_bystander();
  void end_bystander();
  uint64_t waiting_for_bystander() const;

  sigset_t old_mask_;
  int fd_ = -1;
  pid_t bystander_ = -1;
  std::unique_ptr<char[]> stack_; // the bystander's
  int last_ = 0;
  uint64_t last_ns_ = 0;
};

} // namespace rdb::record
