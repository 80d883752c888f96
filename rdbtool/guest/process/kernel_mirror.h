// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel knows nothing of the guest: it has signal actions, masks and lists of robust locks for rdb's own
// threads only. Still it is the kernel that receives the guest's signals, restarts or ends its calls, and
// marks its locks after SIGKILL. So whatever the guest sets in its machine is set in the kernel too, as far
// as rdb can do without it: a signal that ends the process by default gets a handler of rdb's, because how a
// process ended belongs to its recording.
#pragma once

#include "rdbtool/guest/process/machine_listener.h"

namespace rdb::guest {

class Machine;
class SignalInbox;

class KernelMirror final : public MachineListener {
public:
  KernelMirror(Machine& machine, SignalInbox& inbox) : machine_(machine), inbox_(inbox) {}

  void on_mask(uint64_t mask) override;
  void on_action(int signal) override;
  void on_robust_list(GuestAddr head) override;
  // Sets all actions in the kernel: at the start, and if the process has become, or is not any more, the
  // first one of a PID namespace.
  void set_all_actions();

private:
  Machine& machine_;
  SignalInbox& inbox_;
};

} // namespace rdb::guest
