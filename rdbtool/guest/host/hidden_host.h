// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls through which the guest would meet the host around it: /proc/self, descriptors, limits, and
// settings of the whole process. Only live runs need this: what it answers is recorded like any result.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rdb::guest {

class AddressSpace;
class GuestLimits;
class Machine;
class ProcessListener;
class Refusals;
struct LoadedProgram;

class HiddenHost {
public:
  HiddenHost(Machine& machine, const LoadedProgram& program, GuestLimits& limits, Refusals& refusals,
             ProcessListener& listener)
      : machine_(machine), program_(program), limits_(limits), refusals_(refusals), listener_(listener) {}
  ~HiddenHost();
  HiddenHost(const HiddenHost&) = delete;
  HiddenHost& operator=(const HiddenHost&) = delete;

  // Answers the call, or leaves it to the kernel, perhaps with a path of the host's choice in place of the
  // guest's.
  std::optional<ComputedAnswer> answer(SystemCall& call);

  // Where a path of the guest's leads that it names as its own /proc/self/exe; else the path itself.
  std::string program_path(int directory, const std::string& path);

  // Memory that is writable must not become executable (PR_SET_MDWE).
  bool refuses_execution(const AddressSpace& space, const SystemCall& call) const;
  uint64_t deny_write_execute() const { return deny_write_execute_; }
  void set_deny_write_execute(uint64_t flags) { deny_write_execute_ = flags; }

  // Has the guest set the signal for its parent's death? Until then it may be the recorder's own.
  bool death_signal_is_guests() const { return death_signal_is_guests_; }
  void set_death_signal_is_guests(bool yes) { death_signal_is_guests_ = yes; }

private:
  // A place below /proc/PID.
  struct ProcEntry {
    int pid = 0;
    std::string name; // what comes after the process id, or after that of a thread
  };
  std::optional<ComputedAnswer> answer_path(SystemCall& call);
  std::optional<ComputedAnswer> answer_program_link(SystemCall& call, const std::string& program);
  std::optional<ComputedAnswer> answer_other_process(const SystemCall& call, const ProcEntry& entry);
  static std::optional<ComputedAnswer> answer_descriptor(std::string_view name);
  std::optional<ComputedAnswer> answer_own_file(SystemCall& call, const std::string& name);
  std::optional<ComputedAnswer> open_text(SystemCall& call, const std::string& text);
  void redirect(SystemCall& call, const std::string& other);
  static std::optional<ComputedAnswer> close_descriptors(const SystemCall& call);
  std::optional<ComputedAnswer> answer_limits(const SystemCall& call);
  std::optional<ComputedAnswer> answer_prctl(const SystemCall& call);
  static std::optional<ComputedAnswer> list_descriptors(const SystemCall& call);
  std::optional<ProcEntry> entry_of(int directory, const std::string& path);
  // The program, if the entry is the link to one that runs under rdb.
  std::optional<std::string> program_at(const ProcEntry& entry);
  bool directory_in_proc(int directory, std::string& path);

  Machine& machine_;
  const LoadedProgram& program_;
  GuestLimits& limits_;
  Refusals& refusals_;
  ProcessListener& listener_;
  // Until a thread's call is over: what its path argument points to, and the file that this names. Several
  // threads may be in such calls.
  struct Redirection {
    std::string path;
    int text_fd = -1;
  };
  void end_redirection();
  std::map<int32_t, Redirection> redirections_; // by thread
  bool working_directory_known_ = false;
  bool working_directory_in_proc_ = false;
  uint64_t deny_write_execute_ = 0;
  bool death_signal_is_guests_ = false;
};

} // namespace rdb::guest
