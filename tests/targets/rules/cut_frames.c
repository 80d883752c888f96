// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal frames on a stack that is the memory of a file which has been cut off: the kernel cannot write there
// or read there, and says so by SIGSEGV; what an instruction does there raises SIGBUS.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 16 };

static sigjmp_buf escape;
static char* stack;
static int file;
static int cut_in_handler = -1;
static size_t unused; // bytes at the end of the stack: the frame comes to lie elsewhere

static void on_fault(int number, siginfo_t* info, void* context) {
  (void)context;
  char* at = info->si_addr;
  long page = at >= stack && at < stack + kPages * kPage ? (at - stack) / kPage : -1;
  printf("signal %d code %d page %ld\n", number, info->si_code, page);
  siglongjmp(escape, 1);
}

static char other[1 << 16];

static void on_user(int number) {
  // The alternate stack is free while its handler runs: faults have another one.
  stack_t alternate = {.ss_sp = other, .ss_size = sizeof other};
  if (cut_in_handler >= 0) sigaltstack(&alternate, NULL);
  if (cut_in_handler >= 0 && ftruncate(file, cut_in_handler * kPage) != 0) perror("ftruncate");
  if (cut_in_handler < 0) printf("handled %d\n", number);
}

static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(number, &action, NULL);
}

static void make_stack(int flags) {
  char name[] = "/tmp/rule_cut_frames-XXXXXX";
  file = mkstemp(name);
  unlink(name);
  if (ftruncate(file, kPages * kPage) != 0) perror("ftruncate");
  stack = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, flags, file, 0);
  memset(stack, 's', kPages * kPage);
  // SS_AUTODISARM
  stack_t alternate = {.ss_sp = stack, .ss_size = kPages * kPage - unused, .ss_flags = 1 << 31};
  if (sigaltstack(&alternate, NULL) != 0) perror("sigaltstack");
}

static void drop_stack(void) {
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
  munmap(stack, kPages * kPage);
  close(file);
}

static void catch_faults(int flags) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
}

static void show_written(int pages) {
  for (int i = 0; i < pages; i++) {
    int changed = 0;
    for (int k = 0; k < kPage; k++)
      changed += stack[i * kPage + k] != 's';
    printf("%s", changed ? "w" : ".");
  }
  printf("\n");
}

static void cut_before(int flags, int pages) {
  printf("before, %d pages left\n", pages);
  make_stack(flags);
  handle(SIGUSR1, on_user, SA_ONSTACK);
  catch_faults(0);
  if (ftruncate(file, pages * kPage) != 0) perror("ftruncate");
  if (sigsetjmp(escape, 1) == 0) raise(SIGUSR1);
  show_written(pages);
  drop_stack();
}

// In a process of its own: if the kernel has restored the alternate stack before it fails, that is the end.
static void cut_inside(int flags, int pages) {
  printf("inside, %d pages left\n", pages);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    make_stack(flags);
    handle(SIGUSR1, on_user, SA_ONSTACK);
    catch_faults(SA_ONSTACK);
    cut_in_handler = pages;
    if (sigsetjmp(escape, 1) == 0) {
      raise(SIGUSR1);
      printf("returned\n");
    }
    fflush(stdout);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) printf("ended by %d\n", WTERMSIG(status));
}

// The fault's own handler has no other stack: the process ends.
static void deadly(int flags, int number, int pages) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    make_stack(flags);
    handle(number, on_user, SA_ONSTACK);
    catch_faults(SA_ONSTACK);
    if (ftruncate(file, pages * kPage) != 0) perror("ftruncate");
    raise(number);
    _exit(3);
  }
  int status;
  waitpid(child, &status, 0);
  printf("deadly %d: %s %d\n", number, WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

// The program itself runs on that stack.
static void fault_on_stack(int flags, int use_alternate) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    make_stack(flags);
    stack_t none = {.ss_flags = SS_DISABLE};
    if (!use_alternate) sigaltstack(&none, NULL);
    stack_t alternate = {.ss_sp = other, .ss_size = sizeof other};
    if (use_alternate) sigaltstack(&alternate, NULL);
    catch_faults(SA_ONSTACK);
    if (ftruncate(file, 0) != 0) perror("ftruncate");
    if (sigsetjmp(escape, 1) == 0)
      __asm__ volatile("mov %0, %%rsp; push %%rax" : : "r"(stack + kPages * kPage) : "memory");
    fflush(stdout);
    _exit(4);
  }
  int status;
  waitpid(child, &status, 0);
  printf("on the stack: %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

int main(void) {
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  const int kinds[] = {MAP_SHARED, MAP_PRIVATE};
  for (int i = 0; i < 2; i++) {
    printf("%s\n", i == 0 ? "shared" : "private");
    for (unused = 0; unused < kPage; unused += 1024) {
      printf("%zu bytes unused\n", unused);
      for (int pages = kPages - 2; pages <= kPages; pages++)
        cut_before(kinds[i], pages);
      for (int pages = kPages - 2; pages <= kPages; pages++)
        cut_inside(kinds[i], pages);
    }
    unused = 0;
    deadly(kinds[i], SIGUSR1, 0);
    deadly(kinds[i], SIGUSR1, 15);
    deadly(kinds[i], SIGSEGV, 0);
    deadly(kinds[i], SIGBUS, 0);
    fault_on_stack(kinds[i], 0);
    fault_on_stack(kinds[i], 1);
  }
  return 0;
}
