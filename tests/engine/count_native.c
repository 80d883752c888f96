// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the user instructions of a native run exactly, by single-stepping it with ptrace: the oracle for the
// engine's own count. A `rep` string instruction traps once per iteration and is counted once; an instruction
// that faults is not counted; the last system call (exit) is. With two addresses the count begins when the
// first is reached and ends when the second is, so that start-up code that differs under rdb can be left out.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char* what) {
  fprintf(stderr, "count_native: %s: %s\n", what, strerror(errno));
  exit(125);
}

static unsigned long program_counter(pid_t pid) {
  struct user_regs_struct regs;
  if (ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0) die("PTRACE_GETREGS");
  return regs.rip;
}

// True for a string instruction with a repeat prefix at pc: the only instruction that a step may leave half
// done.
static int is_repeated_string(pid_t pid, unsigned long pc) {
  unsigned char code[16];
  memset(code, 0, sizeof code);
  struct iovec local = {code, sizeof code};
  // Near the end of a mapping fewer bytes are there; a short read leaves zeros, which are no string opcode.
  for (; local.iov_len > 0; local.iov_len--) {
    struct iovec remote = {(void*)pc, local.iov_len};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0) break;
  }
  int repeated = 0;
  size_t i = 0;
  for (; i < sizeof code; i++) {
    unsigned char b = code[i];
    if (b == 0xf2 || b == 0xf3) {
      repeated = 1;
    } else if (b != 0x66 && b != 0x67 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 && b != 0x64 &&
               b != 0x65) {
      break;
    }
  }
  if (i >= sizeof code) return 0;
  unsigned char opcode = code[i];
  if ((opcode & 0xf0) == 0x40) opcode = i + 1 < sizeof code ? code[i + 1] : 0; // REX
  int string = (opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
               (opcode >= 0xaa && opcode <= 0xaf);
  return repeated && string;
}

static int finish(int status, unsigned long count) {
  fprintf(stderr, "native instructions: %lu\n", count);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int main(int argc, char** argv) {
  unsigned long begin = 0, end = 0;
  int arg = 1;
  if (argc > 3 && strcmp(argv[1], "--between") == 0) {
    begin = strtoul(argv[2], NULL, 0);
    end = strtoul(argv[3], NULL, 0);
    arg = 4;
  }
  if (arg >= argc) {
    fprintf(stderr, "usage: count_native [--between BEGIN END] prog args...\n");
    return 2;
  }
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) {
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) die("PTRACE_TRACEME");
    execv(argv[arg], argv + arg);
    die(argv[arg]);
  }
  int status;
  if (waitpid(pid, &status, 0) < 0) die("waitpid");
  if (!WIFSTOPPED(status)) return finish(status, 0);

  unsigned long count = 0;
  int counting = begin == 0;
  int signal_to_deliver = 0;
  for (;;) {
    unsigned long pc = program_counter(pid);
    if (begin != 0 && pc == begin) counting = 1;
    if (end != 0 && pc == end) counting = 0;
    int repeated = is_repeated_string(pid, pc);
    int delivers = signal_to_deliver != 0;
    if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal_to_deliver) != 0) die("PTRACE_SINGLESTEP");
    signal_to_deliver = 0;
    if (waitpid(pid, &status, 0) < 0) die("waitpid");
    if (!WIFSTOPPED(status)) return finish(status, count + (counting && !delivers ? 1 : 0));
    if (WSTOPSIG(status) != SIGTRAP) {
      signal_to_deliver = WSTOPSIG(status); // the instruction at pc faulted: it did not happen
      continue;
    }
    siginfo_t info;
    if (ptrace(PTRACE_GETSIGINFO, pid, 0, &info) != 0) die("PTRACE_GETSIGINFO");
    if (info.si_code == SI_KERNEL) {
      signal_to_deliver = SIGTRAP; // int3 of the program itself: executed, and it raised a signal
      if (counting) count++;
      continue;
    }
    if (delivers) continue; // this step entered the handler and executed nothing
    if (repeated && program_counter(pid) == pc) continue;
    if (counting) count++;
  }
}
