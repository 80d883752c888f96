// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code in memory that processes share since a fork: what one of them writes there, the other executes.
#define _GNU_SOURCE
#include "cases.h"

#include <stdatomic.h>
#include <stdint.h>

enum { kRounds = 40, kAll = PROT_READ | PROT_WRITE | PROT_EXEC };

static void put_function(unsigned char* to, int result) {
  unsigned char code[] = {0xB8, 0, 0, 0, 0, 0xC3}; // mov eax, result; ret
  memcpy(code + 1, &result, sizeof result);
  memcpy(to, code, sizeof code);
}

static int call(const void* function) {
  return ((int (*)(void))function)();
}

static int file_;

static unsigned char* shared_file_pages(size_t pages, int protection) {
  file_ = memfd_create("code", 0);
  check(file_ >= 0 && ftruncate(file_, (off_t)(pages * kPage)) == 0, "memfd_create");
  return (unsigned char*)map_pages(pages, protection, MAP_SHARED, file_);
}

// Two processes that take turns, by bytes in pipes.
static int to_child[2], to_parent[2];
static pid_t child_;

static int fork_partner(void) {
  check(pipe(to_child) == 0 && pipe(to_parent) == 0, "pipe");
  child_ = fork();
  check(child_ >= 0, "fork");
  return child_ == 0;
}

static void pass_on(void) {
  check(write(child_ == 0 ? to_parent[1] : to_child[1], "x", 1) == 1, "write");
}

static void await(void) {
  char byte;
  check(read(child_ == 0 ? to_child[0] : to_parent[0], &byte, 1) == 1, "read");
}

static void end_partner(int sum) {
  if (child_ == 0) {
    say("child: %d\n", sum);
    _exit(0);
  }
  int status = wait_for(child_); // it prints first
  say("parent: %d\n", sum);
  show_status("child", status);
}

// One writes, the other executes.
static void written_by_parent(unsigned char* code) {
  int sum = 0;
  if (fork_partner()) {
    for (int i = 0; i < kRounds; ++i) {
      await();
      sum = sum * 3 + call(code);
      pass_on();
    }
  } else {
    for (int i = 0; i < kRounds; ++i) {
      put_function(code, i);
      pass_on();
      await();
    }
  }
  end_partner(sum);
}

static void of_a_file(void) {
  written_by_parent(shared_file_pages(1, kAll));
}

static void anonymous(void) {
  written_by_parent((unsigned char*)map_pages(1, kAll, MAP_SHARED | MAP_ANONYMOUS, -1));
}

// The bytes of the function are on two pages.
static void on_two_pages(void) {
  written_by_parent(shared_file_pages(2, kAll) + kPage - 3);
}

// It was executed, often enough to be translated for speed, before there was another process.
static void executed_before(void) {
  unsigned char* code = (unsigned char*)map_pages(1, kAll, MAP_SHARED | MAP_ANONYMOUS, -1);
  put_function(code, 5);
  int sum = 0;
  for (int i = 0; i < 3000; ++i)
    sum += call(code);
  say("before: %d\n", sum);
  written_by_parent(code);
}

// Both write and both execute, by turns.
static void both(void) {
  unsigned char* code = shared_file_pages(1, kAll);
  put_function(code, 7);
  int sum = 0;
  int is_child = fork_partner();
  for (int i = 0; i < kRounds; ++i) {
    if (is_child) await();
    sum = sum * 3 + call(code);
    put_function(code, 2 * i + is_child);
    sum = sum * 3 + call(code);
    pass_on();
    if (!is_child) await();
  }
  end_partner(sum);
}

// The page goes to and fro without a system call, and the word that says whose turn it is lies on it, or on
// another one.
static void by_turns(unsigned char* code, _Atomic int* turn) {
  int sum = 0;
  int is_child = fork_partner();
  for (int i = 0; i < kRounds; ++i) {
    while (atomic_load(turn) != is_child) {
    }
    if (i > 0 || is_child) sum = sum * 3 + call(code);
    put_function(code, 2 * i + is_child);
    atomic_store(turn, !is_child);
  }
  end_partner(sum);
}

static void turns_on_the_same_page(void) {
  unsigned char* code = shared_file_pages(1, kAll);
  by_turns(code + 64, (_Atomic int*)code);
}

static void turns_on_another_page(void) {
  unsigned char* code = (unsigned char*)map_pages(3, kAll, MAP_SHARED | MAP_ANONYMOUS, -1);
  by_turns(code + kPage - 3, (_Atomic int*)(code + 2 * kPage));
}

// Each makes the page writable only while it writes, and executable only while it executes.
static void never_both(void) {
  unsigned char* code = shared_file_pages(2, PROT_READ | PROT_WRITE);
  int sum = 0;
  int is_child = fork_partner();
  for (int i = 0; i < kRounds; ++i) {
    if (is_child) await();
    if (i > 0 || is_child) {
      mprotect(code, 2 * kPage, i % 2 ? PROT_EXEC : PROT_READ | PROT_EXEC);
      sum = sum * 3 + call(code + kPage - 2);
    }
    mprotect(code, 2 * kPage, PROT_READ | PROT_WRITE);
    put_function(code + kPage - 2, 2 * i + is_child);
    pass_on();
    if (!is_child) await();
  }
  end_partner(sum);
}

// A copy by one instruction, which is itself in shared memory, as are source and destination.
static void copied_by_shared_code(void) {
  static const unsigned char kCopy[] = {0x48, 0x89, 0xD1, 0xF3, 0xA4, 0xC3}; // mov rcx, rdx; rep movsb; ret
  unsigned char* memory = shared_file_pages(8, kAll);
  memcpy(memory + kPage - 4, kCopy, sizeof kCopy);
  void (*copy)(void*, const void*, size_t) = (void (*)(void*, const void*, size_t))(memory + kPage - 4);
  unsigned sum = 0;
  int is_child = fork_partner();
  for (int i = 0; i < kRounds; ++i) {
    if (is_child) await();
    copy(memory + 5 * kPage + 10, memory + 2 * kPage + 20, 2 * kPage);
    for (size_t k = 0; k < 2 * kPage; ++k)
      sum = sum * 31 + memory[5 * kPage + 10 + k];
    memset(memory + 2 * kPage, 2 * i + is_child, 2 * kPage + 100);
    memory[kPage + 1] = 0xC3; // the same as before
    pass_on();
    if (!is_child) await();
  }
  end_partner((int)sum);
}

// What a process has written counts, though it was killed before it gave the page back.
static void written_by_killed(void) {
  unsigned char* code = (unsigned char*)map_pages(2, kAll, MAP_SHARED | MAP_ANONYMOUS, -1);
  put_function(code, 1);
  say("before: %d\n", call(code));
  if (fork_partner()) {
    put_function(code, 2);
    for (*(_Atomic int*)(code + kPage) = 1;;) {
    }
  }
  while (*(_Atomic int*)(code + kPage) == 0) {
  }
  kill(child_, SIGKILL);
  show_status("child", wait_for(child_));
  say("after: %d\n", call(code));
}

// The same where a third process, which has the file open but mapped no more, has tried to write to it
// before.
static void taken_over_from_killed(void) {
  unsigned char* memory = shared_file_pages(2, PROT_READ | PROT_WRITE);
  volatile unsigned char* value = memory;
  _Atomic int* written = (_Atomic int*)(memory + kPage);
  *value = 'a';
  pid_t writer = fork();
  if (writer == 0) {
    *value = 'b';
    for (*written = 1;;) {
    }
  }
  while (*written == 0) {
  }
  kill(writer, SIGKILL);
  show_status("writer", wait_for(writer));
  pid_t third = fork();
  if (third == 0) {
    munmap(memory, kPage);
    void* volatile nowhere = (void*)16;
    ssize_t result = pwrite(file_, nowhere, 1, 0);
    say("third: %s\n", error_of(result));
    _exit(0);
  }
  show_status("third", wait_for(third));
  say("value: %c\n", *value);
}

static sigjmp_buf back;
static volatile int signal_, code_, error_;
static volatile long place_;
static unsigned char* base_;

static void on_fetch(int number, siginfo_t* info, void* context) {
  (void)context;
  signal_ = number;
  code_ = info->si_code;
  place_ = (unsigned char*)info->si_addr - base_;
  siglongjmp(back, 1);
}

static void show_call(const char* who, const unsigned char* function) {
  if (sigsetjmp(back, 1))
    say("%s: signal %d code %d at %lx\n", who, signal_, code_, place_);
  else
    say("%s: %d\n", who, call(function));
}

// The other process cuts the file off, before the function or in its middle.
static void cut_off_by_partner(void) {
  struct sigaction action = {.sa_sigaction = on_fetch, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  base_ = shared_file_pages(2, kAll);
  unsigned char* code = base_ + kPage - 3;
  put_function(code, 3);
  show_call("before", code);
  int is_child = fork_partner();
  for (off_t size = kPage; size >= 0; size -= kPage) {
    if (is_child) {
      await();
      check(ftruncate(file_, size) == 0, "ftruncate");
      pass_on();
    } else {
      show_call("parent", code);
      pass_on();
      await();
      show_call("parent", code);
    }
  }
  if (is_child) _exit(0);
  show_status("child", wait_for(child_));
}

static const struct Case cases[] = {
    {"of_a_file", of_a_file},
    {"anonymous", anonymous},
    {"on_two_pages", on_two_pages},
    {"executed_before", executed_before},
    {"both", both},
    {"turns_on_the_same_page", turns_on_the_same_page},
    {"turns_on_another_page", turns_on_another_page},
    {"never_both", never_both},
    {"copied_by_shared_code", copied_by_shared_code},
    {"written_by_killed", written_by_killed},
    {"taken_over_from_killed", taken_over_from_killed},
    {"cut_off_by_partner", cut_off_by_partner},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
