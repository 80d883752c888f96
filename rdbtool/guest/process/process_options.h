// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a live process begins with.
#pragma once

#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/process/machine.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <iterator>
#include <linux/filter.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace rdb::guest {

// What a program keeps across execve and rdb holds in place of the kernel.
struct Inherited {
  bool known = false;
  uint64_t mask = 0; // blocked signals
  std::array<rlimit, std::size(GuestLimits::kKept)> limits = {};
  uint64_t deny_write_execute = 0;
  bool death_signal_is_guests = false;
  std::vector<std::vector<sock_filter>> filters;
};

struct ProcessOptions {
  std::string path; // the program's file
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  MachineOptions machine;
  Inherited inherited;
  std::optional<sigset_t> blocked; // signals, when it begins; without it those of this process
  uint64_t max_instructions = UINT64_MAX;
};

} // namespace rdb::guest
