// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGSEGV and the other signals that instructions raise can also be sent, by kill(). The kernel must never
// block them, because translated code raises them all the time, so one that was sent arrives even while the
// guest blocks it. It waits here until the guest lets it in: one of each number at most, as in the kernel.
#pragma once

#include "rdbtool/guest/signals/signal_frame.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <optional>

namespace rdb::guest {

class HeldSignals {
public:
  // In a signal handler.
  void add(int signal, const siginfo_t& info);
  // Whether one of these signals waits, which are a set like a mask.
  bool any_of(uint64_t signals) const { return (held_ & signals) != 0; }
  std::optional<PendingSignal> take(uint64_t signals);
  void clear() { held_ = 0; }

private:
  std::atomic<uint64_t> held_ = 0; // a set like a mask
  std::array<PendingSignal, 6> signals_;
};

} // namespace rdb::guest
