// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/signals/held_signals.h"

#include "rdbtool/guest/signals/host_signals.h"

#include <bit>

namespace rdb::guest {
namespace {

size_t slot_of(uint64_t bit) {
  return static_cast<size_t>(std::popcount(kSynchronousSignals & (bit - 1)));
}

} // namespace

void HeldSignals::add(int signal, const siginfo_t& info) {
  uint64_t bit = 1ull << (signal - 1);
  if (held_ & bit) return;
  PendingSignal& held = signals_[slot_of(bit)];
  held = {};
  held.number = signal;
  held.info = info;
  held_ |= bit;
}

std::optional<PendingSignal> HeldSignals::take(uint64_t signals) {
  uint64_t ready = held_ & signals;
  if (ready == 0) return std::nullopt;
  uint64_t bit = ready & -ready;
  PendingSignal result = signals_[slot_of(bit)];
  held_ &= ~bit;
  return result;
}

} // namespace rdb::guest
