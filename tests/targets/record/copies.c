// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two processes that copy shared memory with one instruction that repeats, one of them upwards, the other one
// downwards. Each has the first pages before it begins: under a recorder it comes to need one that the other
// has used, and is not done with. They go on until then.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void touch(volatile char* to, const volatile char* from) {
  *to = *from;
}

static void copy_up(char* to, const char* from, size_t size) {
  touch(to, from);
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void copy_down(char* to, const char* from, size_t size) {
  to += size - 1;
  from += size - 1;
  touch(to, from);
  asm volatile("std; rep movsb; cld" : "+D"(to), "+S"(from), "+c"(size) : : "memory", "cc");
}

int main(void) {
  const size_t size = 512 * 4096;
  char* shared = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  puts("before");
  fflush(stdout);
  if (fork() == 0) {
    for (;;)
      copy_down(shared, shared + size, size);
  }
  for (;;)
    copy_up(shared + size, shared, size);
}
