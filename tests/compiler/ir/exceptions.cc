// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In C++ a region has its own catch-all: what it throws does not run into the program's handlers, and the
// destructors of its variables run inside.
// OPTIONS: -O0
#include <rdb/rdb.h>
struct Guard {
  ~Guard();
};
void consider(int);

int work(int n) {
  try {
    rdb_begin
      Guard guard;
      consider(n);
    rdb_end
    return n + 1;
  } catch (int) {
    return 0;
  }
}

// CHECK:      IR Dump After {{.*}}ModulePass on
// CHECK:      define dso_local void @__rdb_fn_{{[0-9a-f]+}}_1(ptr %args)
// CHECK:      %guard{{[0-9]*}} = alloca
// CHECK:      load ptr, ptr @__rdb_slot__Z8consideri
// CHECK:      invoke void %
// CHECK:      @__rdb_slot__ZN5GuardD1Ev
// CHECK:      landingpad
// CHECK-NEXT: catch ptr null
// CHECK-NOT:  @_ZTIi
// CHECK:      @__rdb_slot___cxa_rethrow
// CHECK:      IR Dump After
