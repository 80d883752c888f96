// Structures that the optimiser takes apart: some members are values, some are in memory, some are gone. A
// region that does not read what is gone runs.
#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct header {
  unsigned name, type;
  unsigned long flags, address, offset, size;
  unsigned link, info;
  unsigned long align, entry;
};

NOINLINE unsigned use(const struct header *h) {
  return h->name + h->type + (unsigned)(h->flags + h->address + h->offset + h->size) + h->link + h->info + (unsigned)(h->align * h->entry);
}

static unsigned add(const char *name, struct header h) {
  h.name = (unsigned)strlen(name);
  h.offset = h.align * 3;
  return use(&h);
}

NOINLINE unsigned sections(const char *name, unsigned long size) {
  struct header data = {0};
  data.type = 5;
  data.size = size;
  data.align = 8;
  rdb_begin
    printf("data %u %lu %lu\n", data.type, data.size, data.align);
  rdb_end
  unsigned index = add(name, data);
  rdb_begin
    printf("index %u %lu\n", index, data.size);
  rdb_end
  struct header rela = {0};
  rela.info = index;
  rela.entry = 24;
  rdb_begin
    printf("rela %u %lu\n", rela.info, rela.entry);
  rdb_end
  return add("rela", rela);
}

struct span {
  long begin, end;
  int room[6];
  char inside, open;
};

NOINLINE void keep(struct span *to, struct span from) { *to = from; }

static struct span spans[4];

// The first value of `begin` is overwritten before anybody needs it.
NOINLINE long lines(const char *text) {
  long count = 0;
  long at = 0;
  for (; text[at] != 0; at++) {
    if (text[at] != '/') continue;
    struct span next;
    memset(&next, 0, sizeof next);
    rdb_begin
      printf("fresh %ld %d\n", next.begin, next.inside);
    rdb_end
    next.begin = at + 1;
    rdb_begin
      printf("begin %ld %d\n", next.begin, next.inside);
    rdb_end
    if (text[at + 1] == '*') next.inside = 1;
    next.room[2] = (int)count;
    rdb_begin
      printf("inside %d room %d %d\n", next.inside, next.room[2], next.room[3]);
    rdb_end
    keep(&spans[count & 3], next);
    next.open = 7;
    rdb_begin
      printf("open %d begin %ld\n", next.open, next.begin);
    rdb_end
    count += next.begin + next.open;
  }
  return count;
}

// One write fills both parts; one of them is written again before it is read.
struct two {
  long a[3];
  long middle;
  long b[3];
};

NOINLINE long sum(const long *v) { return v[0] + v[1] + v[2]; }

NOINLINE long both(long n) {
  struct two pair;
  memset(&pair, (int)n & 1 ? 0 : 1, sizeof pair);
  rdb_begin
    printf("both %ld %ld\n", pair.a[1], pair.b[1]);
  rdb_end
  pair.middle = n;
  pair.b[0] = pair.b[1] = pair.b[2] = n + 1;
  rdb_begin
    printf("middle %ld %ld %ld\n", pair.a[2], pair.middle, pair.b[2]);
  rdb_end
  long s = 0;
  for (int i = 0; i < 3; i++)
    s += pair.a[i] * n + pair.b[i];
  return s + pair.middle;
}

NOINLINE long whole(struct header h, long n) {
  struct header other = h;
  other.size += (unsigned long)n;
  rdb_begin
    struct header mine = other;
    printf("whole %lu %u %lu\n", mine.size, mine.link, mine.entry);
  rdb_end
  rdb_begin
    printf("one %lu\n", other.size);
  rdb_end
  return (long)(other.size + h.size);
}

int main(int argc, char **argv) {
  (void)argv;
  struct header h = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  unsigned total = sections("text", 100ul + (unsigned long)argc) + (unsigned)lines("a/b/*c*/d") + (unsigned)both(argc + 4) + (unsigned)both(argc + 5);
  printf("total %u %ld\n", total + (unsigned)whole(h, argc), spans[1].begin);
  return 0;
}
