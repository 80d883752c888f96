// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls through which the guest would meet the host around it: /proc/self, descriptors, limits, and
// settings of the whole process. Only live runs need this: what it answers is recorded like any result.
#pragma once

#include "rdbtool/guest/process/machine.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rdb::guest {

class Process;

// The outcome of a call that rdb has carried out by itself.
struct Answer {
  struct Write {
    GuestAddr to;
    std::vector<std::byte> bytes;
  };
  int64_t result = 0;
  std::vector<Write> writes;
};

class HiddenHost {
public:
  ~HiddenHost();
  HiddenHost() = default;
  HiddenHost(const HiddenHost&) = delete;
  HiddenHost& operator=(const HiddenHost&) = delete;

  // Answers the call, or leaves it to the kernel, perhaps with a path of the host's choice in place of the
  // guest's.
  std::optional<Answer> answer(Process& process, SystemCall& call);

  // Where a path of the guest's leads that it names as its own /proc/self/exe; else the path itself.
  std::string program_path(Process& process, int directory, const std::string& path);

  // Memory that is writable must not become executable (PR_SET_MDWE).
  bool refuses_execution(const AddressSpace& space, const SystemCall& call) const;
  uint64_t deny_write_execute() const { return deny_write_execute_; }
  void set_deny_write_execute(uint64_t flags) { deny_write_execute_ = flags; }

  // Has the guest set the signal for its parent's death? Until then it may be the recorder's own.
  bool death_signal_is_guests() const { return death_signal_is_guests_; }
  void set_death_signal_is_guests(bool yes) { death_signal_is_guests_ = yes; }

private:
  std::optional<Answer> answer_path(Process& process, SystemCall& call);
  std::optional<Answer> answer_limits(Process& process, const SystemCall& call);
  std::optional<Answer> answer_prctl(Process& process, const SystemCall& call);
  std::optional<Answer> list_descriptors(const SystemCall& call);
  // A place below /proc/PID.
  struct Entry {
    int pid = 0;
    std::string name; // what comes behind the number, or behind that of a thread
  };
  std::optional<Entry> entry_of(const Process& process, int directory, const std::string& path);
  // The program, if the entry is the link to one that runs under rdb.
  static std::optional<std::string> program_at(const Process& process, const Entry& entry);
  bool directory_in_proc(int directory, std::string& path);

  std::string path_; // what a call's path argument points to while the call is made
  int text_fd_ = -1; // the file that it names
  bool working_directory_known_ = false;
  bool working_directory_in_proc_ = false;
  uint64_t deny_write_execute_ = 0;
  bool death_signal_is_guests_ = false;
};

} // namespace rdb::guest
