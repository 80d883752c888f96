// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts the user instructions of a native run exactly, by single-stepping it with ptrace: the oracle for the
// engine's own count. A `rep` string instruction traps once per iteration and is counted once; an instruction
// that faults is not counted; the last system call (exit) is. With two addresses the count begins when the
// first is reached and ends when the second is, so that start-up code that differs under rdb can be left out.
// --stop N prints the address that is reached after exactly N instructions.
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

enum Kind { kPlain, kRepeatedString, kPushFlags, kSystemCall };

// The kinds of instruction that single-stepping disturbs: a repeated string instruction may be left half
// done, and the trap flag shows in what pushf and syscall store.
static enum Kind kind_at(pid_t pid, unsigned long pc) {
  unsigned char code[16];
  memset(code, 0, sizeof code);
  struct iovec local = {code, sizeof code};
  // Near the end of a mapping fewer bytes are there; a short read leaves zeros, which are none of these
  // opcodes.
  for (; local.iov_len > 0; local.iov_len--) {
    struct iovec remote = {(void*)pc, local.iov_len};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0) break;
  }
  static const unsigned char kPrefixes[] = {0x66, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0, 0xf2, 0xf3};
  int repeated = 0;
  size_t i = 0;
  while (i < sizeof code - 2 && memchr(kPrefixes, code[i], sizeof kPrefixes) != NULL) {
    repeated |= code[i] == 0xf2 || code[i] == 0xf3;
    i++;
  }
  if ((code[i] & 0xf0) == 0x40) i++; // REX
  unsigned char opcode = code[i];
  if (opcode == 0x9c) return kPushFlags;
  if (opcode == 0x0f && code[i + 1] == 0x05) return kSystemCall;
  int string = (opcode >= 0x6c && opcode <= 0x6f) || (opcode >= 0xa4 && opcode <= 0xa7) ||
               (opcode >= 0xaa && opcode <= 0xaf);
  return repeated && string ? kRepeatedString : kPlain;
}

// Takes the trap flag out of what the instruction just executed has stored, so that the program runs as it
// does alone.
static void hide_trap_flag(pid_t pid, enum Kind kind) {
  enum { kTrapFlag = 0x100 };
  struct user_regs_struct regs;
  if (ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0) die("PTRACE_GETREGS");
  if (kind == kPushFlags) {
    errno = 0;
    long word = ptrace(PTRACE_PEEKDATA, pid, regs.rsp, 0);
    if (errno != 0 || ptrace(PTRACE_POKEDATA, pid, regs.rsp, word & ~kTrapFlag) != 0) die("PTRACE_POKEDATA");
  } else if (kind == kSystemCall && regs.rcx == regs.rip) { // sigreturn instead restores r11
    regs.r11 &= ~(unsigned long)kTrapFlag;
    if (ptrace(PTRACE_SETREGS, pid, 0, &regs) != 0) die("PTRACE_SETREGS");
  }
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
  unsigned long begin = 0, end = 0, stops[64];
  int arg = 1, stop_count = 0;
  if (argc > 3 && strcmp(argv[1], "--between") == 0) {
    begin = strtoul(argv[2], NULL, 0);
    end = strtoul(argv[3], NULL, 0);
    arg = 4;
  }
  for (; argc > arg + 2 && strcmp(argv[arg], "--stop") == 0 && stop_count < 64; arg += 2)
    stops[stop_count++] = strtoul(argv[arg + 1], NULL, 0);
  if (arg >= argc) {
    fprintf(stderr, "usage: count_native [--between BEGIN END] [--stop N]... prog args...\n");
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
    for (int i = 0; i < stop_count; i++) {
      if (stops[i] != count) continue;
      fprintf(stderr, "after %lu: %#lx\n", count, pc);
      stops[i] = ~0ul;
    }
    enum Kind kind = kind_at(pid, pc);
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
    if (kind == kRepeatedString && program_counter(pid) == pc) continue;
    if (kind == kPushFlags || kind == kSystemCall) hide_trap_flag(pid, kind);
    if (counting) count++;
  }
}
