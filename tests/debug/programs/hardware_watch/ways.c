#include <rdb/rdb.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
_Alignas(64) unsigned char area[256];
long sum;
__attribute__((noinline)) long put(long *to, long what) { *to = what; return sum += what; }
rdb_begin_globals
static rdb_id id;
static long events;
static void show(const struct rdb_event *e) {
  const struct rdb_registers *r = e->registers;
  printf("%s %lu %p rip %lx [%ld..%ld) %ld -> %ld%s, %lx %lx %lx %lx %lx %lx %lx\n", (const char *)e->data, e->time,
      e->pc, r->rip,
         (long)((const unsigned char *)e->touched - (const unsigned char *)e->address),
         (long)((const unsigned char *)e->touched - (const unsigned char *)e->address + e->touched_size),
         e->size == 8 ? *(const long *)e->old_bytes : *(const unsigned char *)e->old_bytes,
         e->size == 8 ? *(const long *)e->new_bytes : *(const unsigned char *)e->new_bytes, e->by_system_call ? " by a call" : "",
         r->rax, r->rcx, r->rdx, r->rsi, r->rdi, r->rsp, r->rflags & 0xcd5);
  if (++events % 5 == 0) put((long *)(area + 64), events); /* a program's function: undone, and nobody is told */
}
static void once(const struct rdb_event *e) {
  show(e);
  rdb_remove(id);
}
rdb_end_globals
__attribute__((noinline)) static void ways(int round) {
  *(volatile long *)(area + 61) = 0x1122334455667788 + round;
  *(volatile long *)(area + 64) = round;
  *(volatile int *)(area + 68) += round;
  *(volatile long *)(area + 72) = 9;
  area[131] ^= 3;
  *(volatile short *)(area + 130) = 7;
  unsigned char *to = area + 60;
  unsigned long count = 9;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(3) : "memory");
  to = area + 64;
  __asm__ volatile("stosq" : "+D"(to) : "a"(round) : "memory");
  const unsigned char *from = area + 70;
  to = area + 65;
  __asm__ volatile("movsw" : "+D"(to), "+S"(from) : : "memory");
  __asm__ volatile("movups (%0), %%xmm1; paddb %%xmm1, %%xmm1; movups %%xmm1, 7(%0)" : : "r"(area + 60) : "xmm1", "memory");
  atomic_fetch_add((_Atomic int *)(area + 64), 4);
  long old = 77 + round;
  __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(old), "+m"(*(long *)(area + 64)) : "r"(5l) : "memory", "cc");
  __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(old), "+m"(*(long *)(area + 64)) : "r"(6l) : "memory", "cc");
  __asm__ volatile("xchgq %0, %1" : "+r"(old), "+m"(*(long *)(area + 64)) : : "memory");
  __asm__ volatile("lock xaddq %0, %1" : "+r"(old), "+m"(*(long *)(area + 64)) : : "memory", "cc");
  unsigned char *self = area + 64;
  __asm__ volatile("xaddq %0, (%0)" : "+r"(self) : : "memory", "cc");
  __asm__ volatile("fldpi; fstpt %0" : "=m"(*(char (*)[10])(area + 58)) : : "memory");
  __asm__ volatile("pushq %%rsi; popq (%0)" : : "r"(area + 64) : "rsi", "memory");
  __asm__ volatile("btsq %0, (%1)" : : "r"((long)(round & 63)), "r"(area + 64) : "memory", "cc");
  __asm__ volatile("movnti %0, (%1)" : : "r"((long)round), "r"(area + 64) : "memory");
  __asm__ volatile("setc 3(%0); incb 4(%0); notl (%0); shll $3, (%0)" : : "r"(area + 64) : "memory", "cc");
  /* a stack that is watched */
  __asm__ volatile("mov %%rsp, %%rbx; lea 72(%0), %%rsp; pushq %1; lea 72(%0), %%rsp; pushq $7; lea 72(%0), %%rsp; call 1f; 1: "
                   "lea 72(%0), %%rsp; lea 2f(%%rip), %%rcx; call *%%rcx; 2: mov %%rbx, %%rsp"
                   : : "r"(area), "r"((long)round) : "rbx", "rcx", "memory", "cc");
  put((long *)(area + 64), round);
  memset(area + 50, round, 100);
  memcpy(area + 60, "abcdefghijklmnopqrstuvwxyz", 20);
}
__attribute__((noinline)) static int frame(int n) {
  volatile long local = n;
  rdb_begin
    if (n == 3) id = rdb_on_write((const void *)&local, sizeof local, once, "stack");
  rdb_end
  local += n;
  return (int)local;
}
int main(void) {
  long *heap = calloc(4, sizeof *heap);
  rdb_begin
    rdb_on_write(area + 64, 8, show, "eight");
    rdb_on_write(area + 131, 1, show, "one");
    rdb_on_write(heap + 1, 8, show, "heap");
  rdb_end
  for (int round = 0; round < 30; round++) ways(round);
  for (long i = 0; i < 20000; i++) {
    heap[i & 3 ? 0 : 2] += i;
    if (i % 1000 == 0) heap[1] = i;
  }
  int total = 0;
  for (int i = 0; i < 10; i++) total += frame(i);
  if (pread(3, heap + 1, 5, 0) != 5) return 1;
  if (read(3, area + 60, 6) != 6) return 2;
  heap = realloc(heap, 1 << 20);
  heap[1] = 5;
  free(heap);
  printf("%d %ld\n", total, sum);
  return 0;
}
