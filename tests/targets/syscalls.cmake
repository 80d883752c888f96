# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One guest for each class of system calls: it makes many of them and prints what it got.
foreach(class events faults files ipc memory process refused signals sockets terminal threads)
  rdb_target_program(sys_${class} sys_${class}.c FLAGS -O1 -g LIBS pthread rt)
endforeach()
