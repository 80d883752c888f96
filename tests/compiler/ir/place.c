// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Before optimisation a region is a label, its variables are records, and a write to memory has its mark, as
// far as its code comes to stand with a region: the compile of the program has shown which does. At the end
// there is one label for each copy, with the values that reach it, and the marks are gone. What has no label
// when inlining is over has nothing of it from then on.
// OPTIONS: -O1
#include <rdb/rdb.h>
#include <stdio.h>

struct Count {
  int value;
};

void clear(struct Count *count) { count->value = 0; }

static void set(struct Count *count, int value) { count->value = value; }

int add(struct Count *count, int n) {
  int sum = count->value + n;
  set(count, sum);
  rdb_begin
    printf("%d %d\n", sum, count->value);
  rdb_end
  return sum * 3;
}

// CHECK:      IR Dump After {{.*}}StartPass on
// CHECK:      define dso_local void @clear({{.*}} !dbg
// CHECK-NOT:  #dbg
// CHECK:      define dso_local i32 @add(
// CHECK-DAG:  #dbg_declare(ptr %sum, ![[SUM:[0-9]+]],
// CHECK-DAG:  #dbg_declare(ptr %count.addr, ![[COUNT:[0-9]+]],
// CHECK:      call void @set(
// CHECK:      #dbg_label(![[LABEL:[0-9]+]],
// CHECK-NEXT: load i32, ptr %sum
// CHECK:      define internal void @set(
// CHECK:      #dbg_assign(ptr %{{.*}}, ![[MARK:[0-9]+]], {{.*}} ![[ID:[0-9]+]], ptr %value
// CHECK-NEXT: store i32 {{.*}} !DIAssignID ![[ID]]
// CHECK-DAG:  ![[LABEL]] = !DILabel({{.*}}name: "rdb.label.0"
// CHECK-DAG:  ![[SUM]] = !DILocalVariable(name: "rdb.var.{{.*}}|sum.0"
// CHECK-DAG:  ![[COUNT]] = !DILocalVariable(name: "rdb.var.{{.*}}|count.0"
// CHECK-DAG:  ![[MARK]] = !DILocalVariable(name: "rdb.mark.1"
// CHECK:      IR Dump After {{.*}}StartPass on
// CHECK:      define {{.*}} @clear(
// CHECK-NOT:  !dbg
// CHECK-NOT:  #dbg
// CHECK:      define {{.*}} @add({{.*}} !dbg
// CHECK:      #dbg_assign
// CHECK:      IR Dump After {{.*}}StartPass on
// CHECK:      define {{.*}} @add(
// CHECK-NOT:  #dbg_assign
// CHECK-NOT:  !DIAssignID
// CHECK:      store i32 %add, ptr %count
// CHECK-DAG:  #dbg_value(i32 %add, ![[VALUE:[0-9]+]],
// CHECK-DAG:  #dbg_value(ptr %count, !
// CHECK:      #dbg_label(![[INSTANCE:[0-9]+]],
// CHECK:      ret i32
// CHECK-NOT:  !llvm.dbg.cu
// CHECK-DAG:  ![[INSTANCE]] = !DILabel({{.*}}name: "rdb.instance.0"
// CHECK-DAG:  ![[VALUE]] = !DILocalVariable(name: "rdb.value.0.{{[01]}}"
