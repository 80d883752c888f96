# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The engine's guests: each prints the same text natively and under rdb, whatever its addresses.
rdb_target_program(eng_calls eng_calls.c)
rdb_target_program(eng_calls_static eng_calls.c FLAGS -static)
rdb_target_program(eng_calls_static_pie eng_calls.c FLAGS -static-pie -fPIE)
rdb_target_program(eng_calls_nopie eng_calls.c FLAGS -no-pie -fno-pie)
rdb_target_program(eng_calls_unoptimised eng_calls.c FLAGS -O0)
rdb_target_program(eng_computed_goto eng_computed_goto.c)
rdb_target_program(eng_cpu eng_cpu.c FLAGS -mavx2)
rdb_target_program(eng_crash eng_crash.c FLAGS -w)
rdb_target_program(eng_exceptions eng_exceptions.cc FLAGS -Wno-terminate)
rdb_target_program(eng_exceptions_static eng_exceptions.cc FLAGS -static -Wno-terminate)
rdb_target_program(eng_faults eng_faults.c FLAGS -mno-red-zone)
rdb_target_program(eng_integer eng_integer.c FLAGS -mno-red-zone)
rdb_target_program(eng_integer_nopie eng_integer.c FLAGS -mno-red-zone -no-pie -fno-pie)
rdb_target_program(eng_longjmp eng_longjmp.c FLAGS -Wno-infinite-recursion)
rdb_target_program(eng_memory eng_memory.c)
rdb_target_program(eng_avx512 eng_avx512.c FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl)
rdb_target_program(eng_simd eng_simd.c FLAGS -mavx2 -mfma -mf16c -maes -mpclmul -msse4.2)
rdb_target_program(eng_smc eng_smc.c)
rdb_target_program(eng_stack_forms eng_stack_forms.c)
rdb_target_program(eng_stack_hash eng_stack_hash.c)
rdb_target_program(eng_startup eng_startup.c)
rdb_target_program(eng_startup_static eng_startup.c FLAGS -static)
rdb_target_program(eng_strings eng_strings.c FLAGS -mno-red-zone)
rdb_target_program(eng_swapcontext eng_swapcontext.c LIBS m)
rdb_target_program(eng_vsyscall eng_vsyscall.c)
rdb_target_program(eng_x87 eng_x87.c)
rdb_target_program(eng_count eng_count.S FLAGS -nostdlib -static)

# Every operation before every kind of block end: too many to write by hand.
set(eng_flags_cases ${CMAKE_CURRENT_BINARY_DIR}/eng_flags_cases.S)
add_custom_command(OUTPUT ${eng_flags_cases}
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/eng_flags_gen.py ${eng_flags_cases}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/eng_flags_gen.py)
rdb_target_program(eng_flags eng_flags.c ${eng_flags_cases})

# Shared objects of the same layout and other code, loaded in turn to the same place.
rdb_target_program(eng_dlopen eng_dlopen.c LIBS dl)
foreach(id 1 2 3)
  add_library(target_eng_plugin${id} MODULE eng_plugin.c)
  target_compile_definitions(target_eng_plugin${id} PRIVATE PLUGIN_ID=${id})
  set_target_properties(target_eng_plugin${id} PROPERTIES
    PREFIX "" OUTPUT_NAME eng_plugin${id} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/targets)
endforeach()
