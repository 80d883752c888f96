// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls of a live process that change its mappings (mmap, mprotect, brk, shmat ...), carried out in its
// address space: within its limits, and told to those who follow. These are the listener and, for a child by
// vfork, the parent whose memory it would share natively.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/vfork_memory.h"

#include <memory>

namespace rdb::guest {

class GuestLimits;
class HiddenHost;
class Machine;
class ProcessListener;

class MemoryCalls {
public:
  MemoryCalls(Machine& machine, const GuestLimits& limits, const HiddenHost& hidden_host,
              ProcessListener& listener)
      : machine_(machine), limits_(limits), hidden_host_(hidden_host), listener_(listener) {}

  // The result of a call of class memory.
  int64_t call(const SystemCall& call);

  // As grow() and refuse_growth() in growing_memory.h.
  bool grow_for(const engine::Fault& fault);
  void refuse_growth(GuestAddr address, const char* what) const;

  // In a child by vfork: what it shares with its parent; and when it is about to exec or to end, its parent
  // gets what it has changed.
  void share_with_parent(std::unique_ptr<VforkMemory> memory) { parent_ = std::move(memory); }
  void hand_back();
  // In the parent: what the child has changed is so here.
  void take_from_child(const VforkMemory& child);

private:
  Machine& machine_;
  const GuestLimits& limits_;
  const HiddenHost& hidden_host_;
  ProcessListener& listener_;
  std::unique_ptr<VforkMemory> parent_;
};

} // namespace rdb::guest
