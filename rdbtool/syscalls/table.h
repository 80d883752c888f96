// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one table of all x86-64 system calls: who handles a call, may it block, and what each argument is.
// A call that rdb does not record is an explicit entry with the error the guest gets and the reason the user
// gets. Calls with many faces (ioctl, fcntl, prctl ...) have a table of variants behind their row.
#pragma once

#include "rdbtool/syscalls/arg_spec.h"
#include "rdbtool/syscalls/call_properties.h"

#include <array>
#include <cstdio>
#include <span>

namespace rdb {

using SyscallArgs = std::array<uint64_t, 6>;

enum class CallClass : uint8_t {
  emulated, // executed when recording, answered from the log on replay
  memory,   // changes the guest's mappings: really done in both
  thread,   // rdb's scheduler does it
  signal,   // rdb's signal layer does it
  process,  // rdb's process layer does it
  refused,  // not executed: the guest gets the error, the user is told once
};

enum class Blocking : uint8_t { never, may };

// One request of ioctl, one command of fcntl, one option of prctl ...
struct CallVariant {
  uint64_t selector = 0;
  const char* name = nullptr;
  CallClass call_class = CallClass::emulated;
  Blocking blocking = Blocking::never;
  ArgSpec arg;                  // what the call's variant argument is under this selector
  int error = 0;                // Refused: what the guest gets
  const char* reason = nullptr; // Refused: what the user is told
  bool is_harmless = false;     // Refused: programs do well without it
};

enum class Unmatched : uint8_t {
  as_row,   // the row as it stands
  refuse,   // what a request unknown to rdb writes is unknown too
  by_ioctl, // the direction and size that a well-formed request carries in itself
};

struct VariantTable {
  std::span<const CallVariant> variants; // sorted by selector
  uint8_t selector_arg = 0;
  uint8_t high_selector_arg = 0xff; // its low 32 bits go above those of selector_arg, if it is an argument
  uint8_t variant_arg = 0;
  Unmatched unmatched = Unmatched::refuse;
  int unmatched_error = 0;
};

struct SyscallInfo {
  uint16_t number = 0;
  const char* name = nullptr;
  CallClass call_class = CallClass::emulated;
  Blocking blocking = Blocking::may;
  uint8_t arg_count = 0;
  std::array<ArgSpec, 6> args{};
  const VariantTable* variants = nullptr;
  int error = 0;                // Refused: what the guest gets
  const char* reason = nullptr; // Refused: what the user is told
  // Beside the pointer: with sanitizers on, an address is not known to be non-null at compile time.
  bool has_variants = false;
  CallProperties properties{};
};

// All rows, sorted by number.
std::span<const SyscallInfo> syscall_table();
// Null if the table does not know the call: the recording must stop and name it.
const SyscallInfo* find_syscall(uint64_t number);

// What a call is once its variant is known. A plain value; looking it up touches constant data only.
struct CallShape {
  const SyscallInfo* info = nullptr;
  const CallVariant* variant = nullptr; // null if the call has none, or none that is listed
  CallClass call_class = CallClass::emulated;
  Blocking blocking = Blocking::may;
  int error = 0;
  const char* reason = nullptr;
  ArgSpec variant_spec; // replaces the row's spec of variant_arg if that is an argument
  uint8_t variant_arg = 0xff;

  const ArgSpec& arg(unsigned index) const { return index == variant_arg ? variant_spec : info->args[index]; }
};

CallShape shape_of(const SyscallInfo& info, const SyscallArgs& args);

// The properties of a call that its number alone decides, one byte per number, for the fast path.
struct CallTraits {
  bool known : 1 = false;
  bool may_write : 1 = false; // some argument may be an output: go through RedirectedCall
  bool may_block : 1 = false; // for at least one variant
  bool has_variants : 1 = false;
  bool plain : 1 = false; // Emulated, whatever the variant
};

extern const std::array<CallTraits, kSyscallLimit> kCallTraits;

inline CallTraits call_traits(uint64_t number) {
  return number < kSyscallLimit ? kCallTraits[number] : CallTraits{};
}
// False for the many calls without outputs (write, close, lseek, getpid ...): execute them as they are.
inline bool needs_redirect(uint64_t number) {
  return call_traits(number).may_write;
}

const char* name_of(CallClass call_class);

// The whole table in columns, for `rdb info --syscalls`.
void print_syscall_table(std::FILE* out);

} // namespace rdb
