# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Guests for the debugger's tests: small enough to be single-stepped, with lines that tests can name.
rdb_target_program(gdb_steps gdb_steps.c FLAGS -g -O0)
rdb_target_program(gdb_steps_o2 gdb_steps.c FLAGS -g -O2)
rdb_target_program(gdb_threads gdb_threads.c FLAGS -g -O0 LIBS pthread)
rdb_target_program(gdb_signals gdb_signals.c FLAGS -g -O0)
rdb_target_program(gdb_landing gdb_landing.c FLAGS -g -O0)
rdb_target_program(gdb_landing_o2 gdb_landing.c FLAGS -g -O2 -fno-inline)
rdb_target_program(gdb_tree gdb_tree.c FLAGS -g -O0)
rdb_target_program(gdb_cpp gdb_cpp.cc FLAGS -g -O0 LIBS dl)
rdb_target_program(gdb_cpp_o2 gdb_cpp.cc FLAGS -g -O2 LIBS dl)
add_library(target_gdb_plugin MODULE gdb_plugin.c)
target_compile_options(target_gdb_plugin PRIVATE -g -O0)
set_target_properties(target_gdb_plugin PROPERTIES
  PREFIX "" OUTPUT_NAME gdb_plugin LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/targets)
rdb_target_program(gdb_long gdb_long.c FLAGS -g -O1)
