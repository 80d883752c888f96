// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guest's seccomp filters, run by rdb on the guest's calls alone: given to the kernel they would judge
// the host's calls too.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"

#include <cstdint>
#include <linux/filter.h>
#include <optional>
#include <vector>

namespace rdb::guest {

class AddressSpace;
class Refusals;

class SeccompFilters {
public:
  // The calls seccomp and prctl(PR_SET_SECCOMP, PR_GET_SECCOMP); nothing for others.
  std::optional<ComputedAnswer> answer(AddressSpace& space, Refusals& refusals, const SystemCall& call);

  bool active() const { return strict_ || !programs_.empty(); }

  // What is to be done with a call: SECCOMP_RET_* with its data; `address` is that of the instruction after
  // the call.
  uint32_t judge(const SystemCall& call, uint64_t address) const;

  // Across execve.
  bool strict() const { return strict_; }
  const std::vector<std::vector<sock_filter>>& programs() const { return programs_; }
  void add(std::vector<sock_filter> program) { programs_.push_back(std::move(program)); }

private:
  ComputedAnswer set_filter(AddressSpace& space, Refusals& refusals, uint64_t flags, uint64_t program);

  bool strict_ = false;
  std::vector<std::vector<sock_filter>> programs_; // in the order of installation
};

// As the kernel checks a program before it takes it.
bool is_valid_filter(const std::vector<sock_filter>& program);

// Runs a valid program on the bytes of struct seccomp_data.
uint32_t run_filter(const std::vector<sock_filter>& program, const void* data, uint32_t size);

} // namespace rdb::guest
