#include <rdb/rdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
_Alignas(64) unsigned char area[256];
rdb_begin_globals
static unsigned char shadow[256];
static void written(const struct rdb_event *e) {
  printf("[%d..%d) %s\n", (int)((const unsigned char *)e->touched - area),
         (int)((const unsigned char *)e->touched + e->touched_size - area),
         memcmp(e->touched_old, shadow + ((const unsigned char *)e->touched - area), e->touched_size) ? "wrong" : "right");
  memcpy(shadow, area, sizeof shadow);
}
rdb_end_globals
int main(void) {
  rdb_begin
    rdb_on_write(area + 64, 100, written, 0);
  rdb_end
  *(volatile long *)(area + 61) = 0x1122334455667788;
  *(volatile long *)(area + 160) = 9;
  *(volatile long *)(area + 164) = 9;
  *(volatile long *)(area + 56) = 9;
  unsigned char *to = area + 70;
  unsigned long count = 5;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(3) : "memory");
  to = area + 200;
  count = 0;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(3) : "memory");
  const unsigned char *from = area + 70;
  to = area + 100;
  __asm__ volatile("movsb" : "+D"(to), "+S"(from) : : "memory");
  __asm__ volatile("movups (%0), %%xmm1; paddb %%xmm1, %%xmm1; movups %%xmm1, 7(%0)" : : "r"(area + 90) : "xmm1", "memory");
  atomic_fetch_add((_Atomic int *)(area + 112), 4);
  int old = 77;
  __asm__ volatile("lock cmpxchgl %2, %1" : "+a"(old), "+m"(*(int *)(area + 116)) : "r"(5) : "memory");
  old = 6;
  __asm__ volatile("xchgl %0, %1" : "+r"(old), "+m"(*(int *)(area + 121)) : : "memory");
  __asm__ volatile("fldpi; fstpt %0" : "=m"(*(char (*)[10])(area + 130)) : : "memory");
  __asm__ volatile("movl %0, %%esi; pushq %%rsi; popq (%1)" : : "r"(old), "r"(area + 150) : "rsi", "memory");
  puts("end");
  return area[70];
}
