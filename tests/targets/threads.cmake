# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Guests with threads. Each takes the name of a case and prints the same in every schedule, except thr_race and thr_output.
foreach(name futex lifetime locks output race signals)
  rdb_target_program(thr_${name} thr_${name}.c FLAGS -O1 -g LIBS pthread)
endforeach()
rdb_target_program(thr_locks_static thr_locks.c FLAGS -O1 -g -static LIBS pthread)
rdb_target_program(thr_cpp thr_cpp.cc FLAGS -O1 -g -std=c++20 LIBS pthread)
rdb_target_program(thr_openmp thr_openmp.c FLAGS -O1 -g -fopenmp LIBS gomp)
# Its output is the order in which things came out of a lock-free queue.
rdb_target_program(thr_queue thr_queue.c FLAGS -O1 -g LIBS pthread)
# Five classic races that plain runs almost never show. Each exits with 1 when it happens.
foreach(name aba double_checked lost_update missed_wakeup order)
  rdb_target_program(race_${name} race_${name}.c FLAGS -O1 -g LIBS pthread)
endforeach()
