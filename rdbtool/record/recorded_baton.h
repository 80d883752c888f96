// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The baton in the hands of the recorder: before it is given away, the turn ends in the log too.
#pragma once

#include "rdbtool/guest/threads/baton.h"
#include "rdbtool/record/turn_log.h"

namespace rdb::record {

class RecordedBaton {
public:
  RecordedBaton(guest::Baton& baton, TurnLog& turns, guest::Machine& machine)
      : baton_(baton), turns_(turns), machine_(machine) {}

  using During = guest::Baton::During;

  // Each of these as in guest::Baton.
  During best_for(const CallShape& shape, const SyscallArgs& arguments) const {
    return baton_.best_for(shape, arguments);
  }
  int64_t call_kernel(const CallShape& shape, const SyscallArgs& arguments, During baton) {
    if (baton == During::given_away) turns_.end(machine_);
    return baton_.call_kernel(shape, arguments, baton);
  }
  int64_t rest() {
    turns_.end(machine_);
    return baton_.rest();
  }
  void resume(guest::Thread& thread) { baton_.resume(thread); }
  bool is_process_over() const { return baton_.is_process_over(); }

private:
  guest::Baton& baton_;
  TurnLog& turns_;
  guest::Machine& machine_;
};

} // namespace rdb::record
