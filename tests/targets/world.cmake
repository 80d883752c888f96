# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Guests for what a process is to itself and to others: /proc, limits, signals, children.
foreach(name affinity children exec_signal hidden refused seccomp sent_faults shared shared_ends signals)
  rdb_target_program(world_${name} world_${name}.c FLAGS -O1 -g LIBS pthread)
endforeach()
