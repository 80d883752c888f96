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

# rdb_guest_context_sources(TARGET a.cc b.cc): sources of a library that run while the guest's FS base and vector
# registers are in place. The test e2e.base.guest_context looks at what the compiler made of each of them.
function(rdb_guest_context_sources target)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
    "-fno-stack-protector;-fno-exceptions;-fno-sanitize=all;-fno-tree-vectorize;$<IF:$<CXX_COMPILER_ID:GNU>,-mgeneral-regs-only,-mno-implicit-float>")
  foreach(source ${ARGN})
    set_property(GLOBAL APPEND PROPERTY RDB_GUEST_CONTEXT_OBJECTS
      ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/${source}.o)
  endforeach()
endfunction()

# The folder of a test is its part: the tests below tests/engine are e2e.engine.NAME and unit.engine.NAME.
function(rdb_test_part result)
  get_filename_component(part ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(${result} ${part} PARENT_SCOPE)
endfunction()

# rdb_unit_test(PROGRAM SOURCES x_test.cc [DEPS targets...] [GUEST] [FULL]): one GoogleTest program, one ctest entry,
# unit.PART.NAME, where NAME is the program's without the part in front and _test at the end. GUEST: it runs guest code in its
# own process, which sanitizers do not survive.
function(rdb_unit_test program)
  cmake_parse_arguments(arg "GUEST;FULL" "" "SOURCES;DEPS" ${ARGN})
  rdb_test_part(part)
  string(REGEX REPLACE "_test$" "" name ${program})
  string(REGEX REPLACE "^${part}_" "" name ${name})
  set(test unit.${part}.${name})
  add_executable(${program} ${arg_SOURCES})
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${program} PRIVATE rdb_flags ${arg_DEPS} GTest::gtest_main)
  add_test(NAME ${test} COMMAND ${program} --gtest_brief=1)
  add_custom_target(needs.${test})
  add_dependencies(needs.${test} ${program})
  set(labels)
  if(arg_GUEST)
    list(APPEND labels guest)
  endif()
  if(arg_FULL)
    list(APPEND labels full)
  endif()
  set_tests_properties(${test} PROPERTIES TIMEOUT 300 LABELS "${labels}")
endfunction()

# rdb_test_tool(NAME sources...): a program, in build/tests, that end-to-end tests run beside rdb.
function(rdb_test_tool name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(rdb_test_programs ${name})
endfunction()

# rdb_e2e_test(SCRIPT [NAME name] [ARGS args...] [TIMEOUT seconds] [FULL]): a script that drives the built programs, as
# e2e.PART.NAME. NAME is the script's without _test.py if it is not given. tests/run starts it; it finds the programs through
# RDB_BUILD. FULL tests run only with scripts/test --full, and their names end in _full. The target needs.e2e.PART.NAME is what
# scripts/test NAME builds: rdb, the programs under tests/, and rdb-clang for scripts that speak of it.
function(rdb_e2e_test script)
  cmake_parse_arguments(arg "FULL" "NAME;TIMEOUT" "ARGS" ${ARGN})
  rdb_test_part(part)
  if(NOT arg_NAME)
    string(REGEX REPLACE "_test\\.py$" "" arg_NAME ${script})
  endif()
  if(arg_FULL AND NOT arg_NAME MATCHES "_full$")
    string(APPEND arg_NAME _full)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set(test e2e.${part}.${arg_NAME})
  add_test(NAME ${test} COMMAND ${CMAKE_SOURCE_DIR}/tests/run ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "RDB_BUILD=${CMAKE_BINARY_DIR};RDB_SOURCE=${CMAKE_SOURCE_DIR}")
  if(arg_FULL)
    set_tests_properties(${test} PROPERTIES LABELS full)
  endif()
  add_custom_target(needs.${test})
  add_dependencies(needs.${test} rdb rdb_test_programs)
  file(STRINGS ${script} compiles REGEX "rdb-clang|needs_compiler|toolchain|scripts" LIMIT_COUNT 1)
  if(compiles AND TARGET rdb-clang)
    add_dependencies(needs.${test} rdb-clang rdb_compiler_test_programs)
  endif()
endfunction()

# rdb_target_program(NAME sources... [FLAGS flags...]): a guest for the tests, build/targets/FOLDER/NAME, where FOLDER is the
# one below tests/targets that lists it. Guests are built plainly: no warnings policy, no sanitizers, the flags given and no
# others.
function(rdb_target_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;FLAGS;LIBS" ${ARGN})
  set(sources ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(target target_${folder}_${name})
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/targets/${folder}
    POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE ${arg_FLAGS})
  target_link_options(${target} PRIVATE ${arg_FLAGS})
  target_link_libraries(${target} PRIVATE ${arg_LIBS})
  add_dependencies(rdb_test_programs ${target})
endfunction()

# rdb_target_plugin(NAME source [FLAGS flags...] [DEFINES names...]): a shared object that such a guest loads, beside it.
function(rdb_target_plugin name source)
  cmake_parse_arguments(arg "" "" "FLAGS;DEFINES" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(target target_${folder}_${name})
  add_library(${target} MODULE ${source})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/targets/${folder})
  target_compile_options(${target} PRIVATE ${arg_FLAGS})
  target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
  add_dependencies(rdb_test_programs ${target})
endfunction()
