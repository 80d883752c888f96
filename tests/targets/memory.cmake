# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Guests for the system calls that change memory.
foreach(name fork grow kinds outside partial)
  rdb_target_program(mem_${name} mem_${name}.c FLAGS -O1 -g)
endforeach()
rdb_target_program(mem_contents mem_contents.c FLAGS -O1 -g LIBS m)
