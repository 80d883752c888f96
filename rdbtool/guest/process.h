// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One guest process: its memory, its thread, its signals, and the loop that runs it. System calls that
// concern rdb itself (memory, signals, exec, exit) are carried out here; the others are really done.
#pragma once

#include "rdbtool/engine/translator.h"
#include "rdbtool/guest/address_space.h"
#include "rdbtool/guest/elf_image.h"
#include "rdbtool/guest/host_signals.h"
#include "rdbtool/guest/signal_frame.h"

#include <memory>
#include <string>
#include <vector>

namespace rdb::guest {

struct ProcessOptions {
  std::string path; // the program's file
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  uint64_t seed = 0;
  bool randomise = true;
  bool step_only = false;
  bool traces = true;
  uint64_t max_instructions = UINT64_MAX;
};

// How a process ended.
struct Ending {
  enum class Kind : uint8_t { exited, signalled, stopped_at_limit } kind = Kind::exited;
  int value = 0; // exit status or signal number
};

struct SystemCall {
  int64_t number = 0;
  int64_t arguments[6] = {};
};

class Process : private SignalReceiver {
public:
  explicit Process(const ProcessOptions& options);
  ~Process() override;

  Ending run();

  engine::Engine& engine() { return *engine_; }
  AddressSpace& space() { return space_; }
  const std::string& program() const { return program_.path; }

private:
  enum class Next : uint8_t { go_on, ended };

  void load();
  Next system_call();
  int64_t dispatch(const SystemCall& call, Next& next);
  Next fault(const engine::Fault& fault);
  Next deliver(const PendingSignal& signal);
  Next deliver_pending();
  int64_t pass_through(const SystemCall& call);

  int64_t sys_rt_sigaction(int signal, uint64_t action, uint64_t old_action, uint64_t size);
  int64_t sys_rt_sigprocmask(int how, uint64_t set, uint64_t old_set, uint64_t size);
  int64_t sys_sigaltstack(uint64_t stack, uint64_t old_stack);
  int64_t sys_arch_prctl(int code, uint64_t address);
  int64_t sys_clone(const SystemCall& call);
  int64_t sys_execve(uint64_t path, uint64_t argv, uint64_t environment, int directory_fd, int flags);
  int64_t sys_readlink(int64_t result, uint64_t path, uint64_t buffer, uint64_t size);
  void set_mask(uint64_t mask);

  void on_fault(int signal, siginfo_t* info, void* context) override;
  void on_asynchronous(int signal, siginfo_t* info, void* context) override;

  ProcessOptions options_;
  Program program_;
  Layout layout_;
  AddressSpace space_;
  std::unique_ptr<engine::Translator> engine_;
  Ending ending_;

  SignalAction actions_[65];
  AlternateStack alternate_stack_;
  uint64_t mask_ = 0;
  bool restore_mask_ = false; // sigsuspend and its kind: the mask to go back to after delivery
  uint64_t saved_mask_ = 0;
  volatile bool pending_ = false; // received_ holds a signal; everything asynchronous is blocked meanwhile
  PendingSignal received_;
};

} // namespace rdb::guest
