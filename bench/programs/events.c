// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Something to watch: EVENTS in the environment of the replay says what is registered; see bench/events.
// clang-format off: a marker of a region stands alone on its line
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 1000
#define RARELY 4096 // rounds between writes to what is watched
struct node {
  long key;
  struct node* next;
  long payload[6];
};
static struct node* table[COUNT];
static struct node nodes[COUNT];
int counters[4];
static char text[1 << 16];

rdb_begin_globals
static long hits;
static void hit(const struct rdb_event* e) { hits += e->kind >= 0; }
rdb_end_globals

// Keys are counted, text is searched, nodes are relinked: stores, loads and calls as programs have them.
__attribute__((noinline)) static long leaf(long n) {
  __asm__ volatile("");
  return n + 1;
}

static long work(long rounds) {
  long sum = 0;
  for (long round = 0; round < rounds; round++) {
    for (int i = 0; i < COUNT; i++) {
      struct node* node = table[(i * 7 + round) % COUNT];
      node->payload[round & 3] += i;
      sum += node->payload[(round + 1) & 3];
    }
    for (size_t i = 1; i < 4096; i++)
      text[i] = (char)(text[i - 1] * 5 + (char)i);
    if (memchr(text, 250, sizeof text)) sum++;
    if (round % RARELY == 0) {
      counters[round / RARELY % 4]++;
      table[round % COUNT]->next = &nodes[sum & 511];
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  for (int i = 0; i < COUNT; i++)
    table[i] = calloc(1, sizeof(struct node));
  rdb_begin
    const char* what = getenv("EVENTS");
    if (what && !strcmp(what, "4"))
      for (int i = 0; i < 4; i++) rdb_on_write(&counters[i], sizeof counters[i], hit, 0);
    if (what && !strcmp(what, "1000"))
      for (int i = 0; i < COUNT; i++) rdb_on_write(&table[i]->next, sizeof table[i]->next, hit, 0);
    if (what && !strcmp(what, "call")) rdb_on_call("leaf", hit, 0);
    if (what && !strcmp(what, "return")) rdb_on_return("leaf", hit, 0);
    if (what && !strcmp(what, "syscall")) rdb_on_syscall("write", hit, 0);
  rdb_end
  long sum = work(argc > 1 ? atol(argv[1]) : 1);
  for (long i = 0, n = argc > 2 ? atol(argv[2]) : 0; i < n; i++)
    sum = leaf(sum);
  rdb_begin
    fprintf(stderr, "hits %ld\n", hits);
  rdb_end
  return sum == 1;
}
