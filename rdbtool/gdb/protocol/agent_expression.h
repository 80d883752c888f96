// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gdb's agent expressions: a small stack machine in which gdb hands over breakpoint conditions, so that a
// condition that is false a million times costs no round trips. Bytecode comes from outside and is not
// trusted: every run is bounded in steps and stack.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <optional>
#include <span>

namespace rdb::gdb {

// What an expression may look at.
class AgentContext {
public:
  virtual ~AgentContext() = default;
  // By gdb's number (register_file.h); nothing if there is none of 64 bits or less.
  virtual std::optional<uint64_t> register_value(unsigned number) = 0;
  virtual bool read(GuestAddr from, std::span<std::byte> to) = 0;
};

// The value that the expression leaves on top of the stack. Nothing if it cannot be computed: unreadable
// memory, division by zero, bytecode that makes no sense or does what a condition must not.
std::optional<int64_t> evaluate(std::span<const std::byte> code, AgentContext& context);

// Whether a breakpoint with these conditions stops. As gdb itself does, a condition that cannot be computed
// counts as true: the user sees the stop and the reason.
bool condition_holds(std::span<const AgentBytecode> conditions, AgentContext& context);

} // namespace rdb::gdb
