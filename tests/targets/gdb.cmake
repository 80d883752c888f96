# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Guests for the debugger's tests: small enough to be single-stepped, with lines that tests can name.
rdb_target_program(gdb_steps gdb_steps.c FLAGS -g -O0)
rdb_target_program(gdb_steps_o2 gdb_steps.c FLAGS -g -O2)
rdb_target_program(gdb_threads gdb_threads.c FLAGS -g -O0 LIBS pthread)
rdb_target_program(gdb_signals gdb_signals.c FLAGS -g -O0)
