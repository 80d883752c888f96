// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New programs: execve and execveat. The process starts rdb again, which loads the program. All that the
// program gets, and all that rdb keeps for it in place of the kernel, is handed over in a memory file, so
// that nothing of the guest's environment acts on the host.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/process/process_options.h"

#include <string>

namespace rdb::guest {

class Affinity;
class FutexCalls;
class GuestLimits;
class HiddenHost;
class Machine;
class MemoryCalls;
class ProcessListener;
class Refusals;
class SeccompFilters;
struct Handover;

class ExecCalls {
public:
  // What a live process consists of, as far as its end as a program needs it.
  struct Parts {
    Machine& machine;
    Affinity& affinity;
    FutexCalls& futexes;
    MemoryCalls& memory;
    HiddenHost& hidden_host;
    const SeccompFilters& filters;
    const GuestLimits& limits;
    Refusals& refusals;
    ProcessListener& listener;
  };
  explicit ExecCalls(const Parts& parts) : p_(parts) {}

  // Comes back only with an error, or kNotStarted.
  int64_t call(const SystemCall& call);

private:
  // Finds out what is to be executed. 0 or the call's error.
  int64_t prepare(const SystemCall& call, Handover& handover);
  // The path of the program that the call names, by way of its directory if it has one.
  std::string path_from(int directory, const std::string& name, Handover& handover);
  Inherited inheritance() const;

  Parts p_;
};

} // namespace rdb::guest
