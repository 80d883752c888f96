// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory whose contents the kernel changes by way of a file or of advice, where the program cannot read it at
// that moment, or has executed it: what it holds afterwards, and that new code is executed.
#define _GNU_SOURCE
#include "cases.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>

static int temporary_file(size_t size) {
  int fd = memfd_create("contents", 0);
  check(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "memfd_create");
  return fd;
}

// A private mapping shows what is written to the file, also on a page that cannot be read just then.
static void written_while_hidden(void) {
  for (int hidden = 0; hidden < 3; ++hidden) {
    int fd = temporary_file(2 * kPage);
    char* memory = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    mprotect(memory + kPage, kPage, hidden == 0 ? PROT_NONE : hidden == 1 ? PROT_WRITE : PROT_EXEC);
    check(pwrite(fd, "new", 3, kPage) == 3, "pwrite");
    mprotect(memory + kPage, kPage, PROT_READ);
    char text[4] = {memory[kPage], memory[kPage + 1], memory[kPage + 2], '\n'};
    check(write(1, text, 4) == 4, "write");
  }
}

// A file that grows loses what a mapping has written after its old end.
static void grows_past_its_tail(void) {
  char name[] = "contents-XXXXXX";
  int fd = mkstemp(name);
  check(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 100) == 0, "mkstemp");
  char* memory = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  memory[200] = 'T';
  check(pwrite(fd, "x", 1, 8000) == 1, "pwrite");
  char text[2] = {memory[200] ? memory[200] : '0', '\n'};
  check(write(1, text, 2) == 2, "write");
}

static void put_function(unsigned char* to, int result) {
  unsigned char code[] = {0xB8, 0, 0, 0, 0, 0xC3}; // mov eax, result; ret
  memcpy(code + 1, &result, sizeof result);
  memcpy(to, code, sizeof code);
}

static int call(const unsigned char* function) {
  return ((int (*)(void))function)();
}

// Code in a shared mapping of a file is what was last written to the file, by a call or through memory.
static void code_by_write(void) {
  for (int writable = 0; writable < 2; ++writable) {
    int fd = temporary_file(kPage);
    int protection = PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0);
    unsigned char* code = mmap(NULL, kPage, protection, MAP_SHARED, fd, 0);
    for (int i = 0; i < 4; ++i) {
      unsigned char bytes[6];
      put_function(bytes, 10 * i);
      check(pwrite(fd, bytes, sizeof bytes, 0) == sizeof bytes, "pwrite");
      printf("%d ", call(code));
      if (writable) {
        put_function(code, 10 * i + 5);
        printf("%d ", call(code));
      }
    }
    printf("\n");
  }
}

// Pages of code that were executed are dropped, and written again.
static void code_dropped(void) {
  for (int advice = 0; advice < 2; ++advice) {
    unsigned char* code =
        mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; ++i) {
      put_function(code, i);
      put_function(code + kPage, i + 100);
      printf("%d %d ", call(code), call(code + kPage));
      madvise(code, 2 * kPage, advice ? MADV_DONTNEED : MADV_FREE);
    }
    printf("\n");
  }
}

static sigjmp_buf back;
static volatile int code_of_signal;

static void on_signal(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  code_of_signal = info->si_code;
  siglongjmp(back, 1);
}

// An exception of SSE or x87 leaves its bit in the status, which the handler's frame shows.
static void float_exceptions(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(SIGFPE, &action, NULL);
  static const int kExceptions[] = {FE_DIVBYZERO, FE_INVALID, FE_OVERFLOW};
  for (volatile int i = 0; i < 6; ++i) {
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(kExceptions[i % 3]);
    volatile double zero = 0, huge = 1e300, result = 0;
    volatile long double long_zero = 0, long_huge = 1e4000L, long_result = 0;
    if (!sigsetjmp(back, 1)) {
      if (i < 3)
        result = i == 0 ? 1 / zero : i == 1 ? zero / zero : huge * huge;
      else
        long_result = i == 3 ? 1 / long_zero : i == 4 ? long_zero / long_zero : long_huge * long_huge;
      long_result = long_result + 1; // where x87 tells of it
    }
    fedisableexcept(FE_ALL_EXCEPT);
    printf("%d %d\n", code_of_signal, result != 0);
  }
}

static void float_death(void) {
  printf("before\n");
  fflush(stdout);
  feenableexcept(FE_DIVBYZERO);
  volatile double zero = 0;
  volatile double result = 1 / zero;
  (void)result;
}

static const struct Case cases[] = {
    {"written_while_hidden", written_while_hidden},
    {"grows_past_its_tail", grows_past_its_tail},
    {"code_by_write", code_by_write},
    {"code_dropped", code_dropped},
    {"float_exceptions", float_exceptions},
    {"float_death", float_death},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
