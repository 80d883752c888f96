# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How the targets of this project are made: one static library per folder, unit tests in
# tests/, end-to-end tests as scripts that drive the built programs.

add_library(rdb_flags INTERFACE)
target_compile_options(rdb_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Werror -Wshadow -Wno-missing-field-initializers>)
target_include_directories(rdb_flags INTERFACE ${CMAKE_SOURCE_DIR})
if(RDB_SANITIZE)
  target_compile_options(rdb_flags INTERFACE -fsanitize=${RDB_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(rdb_flags INTERFACE -fsanitize=${RDB_SANITIZE})
endif()

# rdb_library(NAME SOURCES a.cc b.cc [DEPS targets...])
function(rdb_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC rdb_flags ${arg_DEPS})
endfunction()

# rdb_unit_test(NAME SOURCES x_test.cc [DEPS targets...] [GUEST] [FULL]): one GoogleTest program, one ctest
# entry. GUEST: it runs guest code in its own process, which sanitizers do not survive.
function(rdb_unit_test name)
  cmake_parse_arguments(arg "GUEST;FULL" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE rdb_flags ${arg_DEPS} GTest::gtest_main)
  add_test(NAME unit.${name} COMMAND ${name} --gtest_brief=1)
  set_tests_properties(unit.${name} PROPERTIES TIMEOUT 300)
  set(labels)
  if(arg_GUEST)
    list(APPEND labels guest)
  endif()
  if(arg_FULL)
    list(APPEND labels full)
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS "${labels}")
endfunction()

# rdb_e2e_test(NAME script.py [ARGS args...] [TIMEOUT seconds] [FULL]): a script that drives the built programs.
# It finds them through RDB_BUILD; FULL tests run only with scripts/test --full.
function(rdb_e2e_test name script)
  cmake_parse_arguments(arg "FULL" "TIMEOUT" "ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME e2e.${name}
    COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_ARGS})
  set_tests_properties(e2e.${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "RDB_BUILD=${CMAKE_BINARY_DIR};RDB_SOURCE=${CMAKE_SOURCE_DIR}")
  if(arg_FULL)
    set_tests_properties(e2e.${name} PROPERTIES LABELS full)
  endif()
endfunction()

# rdb_target_program(NAME sources... [FLAGS flags...]): a guest for the tests, in build/targets.
# Guests are built plainly: no warnings policy, no sanitizers, the flags given and no others.
function(rdb_target_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;FLAGS;LIBS" ${ARGN})
  set(sources ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  add_executable(target_${name} ${sources})
  set_target_properties(target_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/targets
    POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(target_${name} PRIVATE ${arg_FLAGS})
  target_link_options(target_${name} PRIVATE ${arg_FLAGS})
  target_link_libraries(target_${name} PRIVATE ${arg_LIBS})
endfunction()
