# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
rdb_target_program(rec_mapped_files rec_mapped_files.c FLAGS -O1 -g)
rdb_target_program(rec_passed_output rec_passed_output.c FLAGS -O1 -g)
rdb_target_program(rec_copies rec_copies.c FLAGS -O1 -g)
rdb_target_program(rec_segment rec_segment.c FLAGS -O1 -g LIBS pthread)
rdb_target_program(rec_shared_stress rec_shared_stress.c FLAGS -O1 -g)
rdb_target_program(rec_shared_middle rec_shared_middle.c FLAGS -O1 -g)
rdb_target_program(rec_inputs rec_inputs.c FLAGS -O1 -g)
