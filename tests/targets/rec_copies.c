// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two processes that share two pages and copy them to each other, in opposite directions, with one
// instruction that repeats: under a recorder each has the page that the other waits for.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy(void* to, const void* from, size_t size) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

int main(void) {
  enum { kPage = 4096 };
  char* pages = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  atomic_int* met = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  puts("before");
  fflush(stdout);
  pid_t child = fork();
  char* from = child == 0 ? pages : pages + kPage;
  char* to = child == 0 ? pages + kPage : pages;
  atomic_fetch_add(met, 1);
  while (atomic_load(met) < 2)
    ;
  for (int i = 0; i < 100000; ++i) {
    from[i % kPage] = (char)i;
    copy(to, from, kPage);
  }
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  puts("after");
  return 0;
}
