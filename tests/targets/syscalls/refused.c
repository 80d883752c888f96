// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that a recording refuses. Natively each is tried in its most harmless form; what comes back depends
// on the kernel and is printed with "all" only. Under rdb each gives the documented error.
#include "report.h"

#include <sys/mman.h>
#include <sys/prctl.h>

static struct {
  const char* name;
  long number;
} calls[] = {
    {"io_setup", SYS_io_setup},
    {"io_destroy", SYS_io_destroy},
    {"io_submit", SYS_io_submit},
    {"keyctl", SYS_keyctl},
    {"add_key", SYS_add_key},
    {"vmsplice", SYS_vmsplice},
    {"modify_ldt", SYS_modify_ldt},
    {"perf_event_open", SYS_perf_event_open},
    {"bpf", SYS_bpf},
    {"userfaultfd", SYS_userfaultfd},
    {"rseq", SYS_rseq},
    {"io_uring_setup", SYS_io_uring_setup},
    {"clone3", SYS_clone3},
    {"process_vm_writev", SYS_process_vm_writev},
    {"ptrace", SYS_ptrace},
    {"remap_file_pages", SYS_remap_file_pages},
    {"quotactl", SYS_quotactl},
    {"memfd_secret", 447},
    {"map_shadow_stack", 453},
    {"uselib", SYS_uselib},
    {"vserver", SYS_vserver},
    {"get_thread_area", SYS_get_thread_area},
};

int main(int argc, char** argv) {
  report_start(argc, argv);
  unsigned failed = 0, total = sizeof calls / sizeof calls[0];
  for (unsigned i = 0; i < total; ++i) {
    // Arguments that no kernel accepts: a success would leave something behind.
    long result = syscall(calls[i].number, -1L, 0L, -1L, 0x7fffffffL, -1L, -1L);
    if ((int)result < 0) ++failed; // modify_ldt gives its error in 32 bits
    changing("%s %s", calls[i].name, outcome(result));
  }
  fact("%u of %u calls fail", failed, total);
  fact("syscall user dispatch %s", outcome(prctl(PR_SET_SYSCALL_USER_DISPATCH, 77, 0, 0, 0)));
  // An allocator that asks for a key and gets none must go on.
  int key = pkey_alloc(0, 0);
  changing("pkey_alloc %s", outcome(key));
  if (key >= 0) pkey_free(key);
  fact("still here");
  return 0;
}
