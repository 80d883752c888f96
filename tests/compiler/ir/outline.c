// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extractor makes a function of a region: variables come by address, what is the program's or a library's
// through slots, and nothing else of the program is left.
// OPTIONS: -O0
#include <rdb/rdb.h>
#include <stdio.h>

int hits;
rdb_begin_globals
static int shown;
rdb_end_globals

int twice(int n, const char *name) {
  int doubled = 2 * n;
  hits++;
  rdb_begin
    shown += hits;
    printf("%d %s\n", doubled, name);
  rdb_end
  return doubled;
}

// CHECK:      IR Dump After {{.*}}ModulePass on
// CHECK-NOT:  @twice
// CHECK-DAG:  @__rdb_slot_hits = external hidden global ptr
// CHECK-DAG:  @__rdb_slot_printf = external hidden global ptr
// CHECK-DAG:  @shown = internal global i32 0
// CHECK-NOT:  @hits =
// CHECK:      define dso_local void @__rdb_fn_{{[0-9a-f]+}}_{{[0-9]+}}(ptr %args)
// CHECK:      %[[DOUBLED:doubled[0-9]*]] = load ptr, ptr
// CHECK:      %[[NAME:name[0-9]*]] = load ptr, ptr
// CHECK:      load ptr, ptr @__rdb_slot_hits
// CHECK:      store i32 {{.*}}, ptr @shown
// CHECK:      load i32, ptr %[[DOUBLED]]
// CHECK:      load ptr, ptr %[[NAME]]
// CHECK:      load ptr, ptr @__rdb_slot_printf
// CHECK:      ret void
// CHECK-NOT:  define
// CHECK:      IR Dump After
