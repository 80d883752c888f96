# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Guests that each check one rule of Linux about signals and processes; each begins with the rule.
foreach(name clone_flags fetch_faults frame_room handler_state init_death kill_self pidfd_numbers refused_errors robust_kill
             wait_masks)
  rdb_target_program(rule_${name} rule_${name}.c FLAGS -O1 -g LIBS pthread)
endforeach()
