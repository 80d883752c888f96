// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/process.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <csignal>
#include <cstring>
#include <memory>
#include <sys/syscall.h>

namespace rdb::guest {

Process::Process(const ProcessOptions& options, SyscallExecutor& executor, ProcessListener& listener)
    : options_(options), listener_(listener), machine_(options.machine),
      scheduler_(options.machine.turns, [this] { return machine_.engine().executed(); }),
      hidden_host_(machine_, program_, limits_, refusals_, listener),
      memory_(machine_, limits_, hidden_host_, listener), inbox_(machine_, scheduler_),
      kernel_(machine_, inbox_), turns_(machine_, scheduler_, inbox_, affinity_, listener),
      one_thread_(machine_, turns_, inbox_), baton_(machine_, scheduler_, turns_, inbox_, one_thread_),
      futexes_(machine_, scheduler_, turns_, inbox_, listener),
      end_(machine_, scheduler_, futexes_, memory_, listener), delivery_(machine_, memory_, end_, listener),
      threads_({machine_, scheduler_, turns_, inbox_, futexes_, affinity_, end_, listener},
               {.in_os_thread = [this](Thread& thread) { driver_.run_in_os_thread(thread); },
                .in_fiber = [this](Thread& thread) { driver_.run_in_fiber(thread); }}),
      fork_(
          {machine_, scheduler_, threads_, futexes_, affinity_, memory_, kernel_, end_, executor, listener}),
      exec_({machine_, affinity_, futexes_, memory_, hidden_host_, filters_, limits_, refusals_, listener}),
      tracing_({machine_, scheduler_, turns_, threads_, inbox_, executor, listener}),
      dispatcher_({machine_, baton_, turns_, threads_, tracing_, futexes_, memory_, fork_, exec_, inbox_,
                   delivery_, hidden_host_, affinity_, filters_, refusals_, end_, executor, listener}),
      driver_({machine_, scheduler_, turns_, threads_, inbox_, delivery_, dispatcher_, memory_, filters_,
               end_, executor, listener},
              options.max_instructions) {
  Program file;
  if (int error = resolve_program(options.path, options.argv, file))
    user_error("{}: {}", options.path, std::strerror(-error));
  machine_.add_thread(std::make_unique<Thread>(ThreadId(static_cast<int32_t>(raw_syscall(SYS_gettid)))));
  if (options.inherited.known) inherit(options.inherited);
  program_ = load_program(machine_, file, options, limits_);
}

void Process::inherit(const Inherited& inherited) {
  for (size_t i = 0; i < std::size(GuestLimits::kKept); ++i)
    limits_.restore(GuestLimits::kKept[i], inherited.limits[i]);
  hidden_host_.set_deny_write_execute(inherited.deny_write_execute);
  hidden_host_.set_death_signal_is_guests(inherited.death_signal_is_guests);
  for (const auto& filter : inherited.filters)
    filters_.add(filter);
}

// From here on signals are the guest's. What the parent of rdb ignored or blocked, the guest inherits.
void Process::take_over_signals() {
  for (int signal = 1; signal <= 64; ++signal) {
    SignalAction old;
    if (raw_syscall(SYS_rt_sigaction, signal, 0, reinterpret_cast<int64_t>(&old), 8) == 0 &&
        old.handler == reinterpret_cast<uint64_t>(SIG_IGN))
      machine_.set_action(signal, {.handler = old.handler});
  }
  uint64_t blocked = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<int64_t>(&blocked), 8);
  if (options_.blocked) std::memcpy(&blocked, &*options_.blocked, sizeof blocked);
  if (options_.inherited.known) blocked = options_.inherited.mask;
  install_host_signals(machine_.translator(), inbox_);
  machine_.set_listener(&kernel_);
  kernel_.set_all_actions();
  SignalInbox::receive_for(&machine_.current()); // a signal that has waited for this program comes at once
  machine_.set_mask(blocked);
}

Ending Process::run() {
  take_over_signals();
  show_in_proc(program_.stack);
  listener_.on_start(machine_);
  driver_.use_fast_path();
  driver_.run_first(machine_.current());
  Ending ending = end_.result();
  driver_.check_copies(ending);
  return ending;
}

} // namespace rdb::guest
