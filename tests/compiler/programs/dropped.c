// Code that the optimiser removes although it is run, since nothing but a region or a removed write is left in it.
#include <rdb/rdb.h>
#include <stdio.h>

struct Count {
  int last, sum;
} total = {100, 0};

// The loop's write is made once, behind it, and goes then; the loop goes with all that tells of it.
__attribute__((noinline)) void empty_loop(struct Count *count, int n) {
  for (int i = 0; i < n; i++) count->last = i;
  rdb_begin
    printf("behind the loop: %d\n", count->last);
  rdb_end
  count->last = -1;
}

// Two copies, of which one has nothing but the region.
static inline int clamp(int n, int report) {
  if (n > 5) {
    rdb_begin
      printf("clamped\n");
    rdb_end
    if (report) puts("too much");
    n = 5;
  }
  return n;
}
__attribute__((noinline)) int with_report(int n) { return clamp(n, 1) + 1; }
__attribute__((noinline)) int without_report(int n) { return clamp(n, 0) + 2; }

// The copy that is left is never run.
int clamp_here(int n) {
  if (n > 5) {
    rdb_begin
      printf("clamped here\n");
    rdb_end
    if (n > 1000000) puts("far too much");
    n = 5;
  }
  return n;
}
__attribute__((noinline)) int small(int n) { return clamp_here(n & 1023); }

// Nobody needs one of the results.
__attribute__((noinline)) static int square(int n) {
  rdb_begin
    printf("square of %d\n", n);
  rdb_end
  return n * n;
}
__attribute__((noinline)) int squares(int n) {
  square(n + 1);
  return square(n);
}

// Nobody needs what it writes.
__attribute__((noinline)) static void fill(struct Count *count, int n) {
  rdb_begin
    printf("filling with %d\n", n);
  rdb_end
  count->last = n;
  count->sum = n + 1;
}
__attribute__((noinline)) int filled(struct Count *count, int n) {
  struct Count unused;
  fill(&unused, n);
  fill(count, n + 1);
  return n;
}

// The call of puts becomes a jump, and does not come back to the region.
__attribute__((noinline)) void tail(int n) {
  if (n & 1)
    puts("odd");
  else
    total.sum += n;
  rdb_begin
    printf("behind %d\n", total.sum);
  rdb_end
}

// The loop is done several turns at once, and nothing is left of it as it was.
__attribute__((noinline)) void turns(int *restrict to, const int *restrict from) {
  for (int i = 0; i < 64; i++) {
    to[i] = from[i] + 1;
    rdb_begin
      printf("turn\n");
    rdb_end
  }
}

// Whether the loop is left in its first turn is asked once, ahead of it: the region has its place in the turns of one that is not left.
__attribute__((noinline)) int unswitched(int limit, int stop, int *last) {
  int sum = limit;
  for (int i = 0; i < 5; i++) {
    rdb_begin
      printf("not left\n");
    rdb_end
    if (stop != 7) return total.last;
    int swap = sum;
    sum = *last;
    *last = swap;
  }
  return sum;
}

// The loop's write and what it asks for are the same in each turn, and come to stand ahead of it; of the rest one turn is kept.
double low = 1, high = 2;
__attribute__((noinline)) int again(int n) {
  int turn = 0;
once_more:;
  rdb_begin
    printf("once more\n");
  rdb_end
  total.last = high - (low - low) == n;
  if (++turn < 2 && 0.5 + (low + high) >= high) goto once_more;
  return total.sum + n;
}

// One of its calls is in a loop that does the same in each turn. The region goes ahead of the loop's end first, and with the loop then.
static int swept(int n) {
  rdb_begin
    printf("swept %d\n", n);
  rdb_end
  total.last = n & 1 ? n : 7;
  return n;
}
int sweep(int n) {
  for (int turn = 0; turn < 2; turn++) {
    for (int i = 0; i < 8; i++) swept(n);
    puts("swept");
  }
  return swept(n + 1);
}

__attribute__((noinline)) void with_effect(int n) {
  total.sum += n;
  rdb_begin
    printf("effect\n");
  rdb_end
  puts("done");
}

int main(int argc, char **argv) {
  static int from[64], to[64];
  struct Count count = {100, 0};
  for (int i = 0; i < 3; i++) {
    empty_loop(&count, i + argc);
    printf("%d\n", count.last);
    count.last = 100;
    printf("%d\n", with_report(4 + i) + without_report(4 + i) + small(4 + i) + squares(i));
    tail(i);
    printf("%d\n", again(i));
    printf("%d\n", filled(&total, i) + total.last);
    printf("%d\n", unswitched(i, argc, &count.last) + sweep(i));
    with_effect(i);
  }
  turns(to, from);
  printf("%d\n", to[argc]);
  return 0;
}
