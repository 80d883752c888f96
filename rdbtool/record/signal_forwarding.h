// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals that someone sends to `rdb record` are meant for the program that it records: rdb passes them on.
// But a terminal, a shell or a supervisor often signals a whole group of processes, and then the program has
// received its own. A signal does not say which of the two happened. So an otherwise idle process sits in
// rdb's group: if the same signal is pending for it too, the whole group was signalled.
//
// Someone who signals every process called rdb (killall, pkill) means the recorder, and the program must not
// get that signal: so the idle process has another name. A search for words of the program's command line
// still finds rdb too, because rdb's own command line contains them.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <vector>

namespace rdb::record {

class SentSignals {
public:
  // Holds them back from here on. `command`: of the program.
  explicit SentSignals(const std::vector<std::string>& command);
  ~SentSignals();
  SentSignals(const SentSignals&) = delete;
  SentSignals& operator=(const SentSignals&) = delete;

  // What was blocked before.
  const sigset_t& old_mask() const { return old_mask_; }
  // Holds them back for the rest of rdb's life.
  void keep_held() { kept_held_ = true; }
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
  bool kept_held_ = false;
  int fd_ = -1;
  pid_t bystander_ = -1;
  std::string shown_words_; // its command line
  int last_ = 0;
  uint64_t last_ns_ = 0;
};

} // namespace rdb::record
