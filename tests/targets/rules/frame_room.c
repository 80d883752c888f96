// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A signal whose frame cannot be written becomes SIGSEGV, whose handler may have a stack that can take it; if
// it has none, or SIGSEGV is blocked or ignored or its own frame finds no room, the process ends by SIGSEGV.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static char stack[131072];
static volatile int skips; // bytes of the instruction at which a fault's handler goes on

static void say(const char* text) {
  write(1, text, strlen(text));
}

static void handler(int signal, siginfo_t* info, void* context) {
  char text[100];
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  snprintf(text, sizeof text, "  %s, code %d, trap %lld\n", sigabbrev_np(signal), info->si_code,
           registers[REG_TRAPNO]);
  say(text);
  registers[REG_RIP] += skips;
}

static void handle(int signal, int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  sigaction(signal, &action, NULL);
}

static void fault_without_stack(void) {
  skips = 2;
  asm volatile("mov %%rsp, %%rbx\n mov $0x10000, %%rsp\n ud2\n mov %%rbx, %%rsp" ::: "rbx", "memory");
  say("  goes on\n");
}

static void raise_without_stack(void) {
  skips = 0;
  pid_t self = getpid();
  asm volatile("mov %%rsp, %%rbx\n mov $0x10000, %%rsp\n syscall\n mov %%rbx, %%rsp" ::"a"(SYS_kill),
               "D"(self), "S"(SIGUSR1)
               : "rbx", "rcx", "r11", "memory");
  say("  goes on\n");
}

static void all(int flags_of_fault) {
  handle(SIGILL, 0);
  handle(SIGUSR1, SA_RESETHAND);
  handle(SIGSEGV, flags_of_fault);
}

static void with_handler(void) {
  all(SA_ONSTACK);
  fault_without_stack();
  raise_without_stack();
  struct sigaction now;
  sigaction(SIGUSR1, NULL, &now);
  say(now.sa_handler == SIG_DFL ? "  reset\n" : "  not reset\n");
}

static void without_stack(void) {
  all(0);
  fault_without_stack();
}

static void blocked(void) {
  all(SA_ONSTACK);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGSEGV);
  sigprocmask(SIG_BLOCK, &set, NULL);
  fault_without_stack();
}

static void ignored(void) {
  all(SA_ONSTACK);
  signal(SIGSEGV, SIG_IGN);
  raise_without_stack();
}

// An alternate stack that is too small for two frames.
static void overflow(void) {
  static char small[8192];
  stack_t alternate = {.ss_sp = small, .ss_size = sizeof small};
  sigaltstack(&alternate, NULL);
  all(SA_ONSTACK);
  handle(SIGILL, SA_ONSTACK);
  skips = 2;
  asm volatile("mov %%rsp, %%rbx\n lea 600(%0), %%rsp\n ud2\n mov %%rbx, %%rsp" ::"r"(small)
               : "rbx", "memory");
  say("  goes on\n");
}

static void read_only_stack(void) {
  char* page = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  all(SA_ONSTACK);
  skips = 2;
  asm volatile("mov %%rsp, %%rbx\n lea 65536(%0), %%rsp\n ud2\n mov %%rbx, %%rsp" ::"r"(page)
               : "rbx", "memory");
  say("  goes on\n");
}

int main(void) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kCases[] = {{"a handler with another stack\n", with_handler},
                {"none with another\n", without_stack},
                {"blocked\n", blocked},
                {"ignored\n", ignored},
                {"a stack that overflows\n", overflow},
                {"a stack that cannot be written\n", read_only_stack}};
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternate, NULL);
  for (unsigned i = 0; i < sizeof kCases / sizeof kCases[0]; i++) {
    say(kCases[i].name);
    pid_t child = fork();
    if (child == 0) {
      kCases[i].run();
      _exit(7);
    }
    int status;
    waitpid(child, &status, 0);
    char text[40];
    snprintf(text, sizeof text, "  status %x\n", status & ~0x80);
    say(text);
  }
  with_handler();
  return 0;
}
