// Variables that others change: through pointers that were handed out, by atomic operations, in parts.
#include <cstdio>
#include <cstring>
#include <rdb/rdb.h>
#include <stdexcept>

#define APART __attribute__((noinline))

// Nobody knows what it does to memory.
static void anything() {
  asm volatile("" : : : "memory");
}

APART static void set(int *p, int value) {
  anything();
  if (*p != value) *p = value;
}

APART static void set_or_throw(int *p, int value) {
  set(p, value);
  if (value == 99) throw std::runtime_error("99");
}

static int *kept;
APART static void keep(int *p) {
  anything();
  kept = p;
}

APART static void change_kept() {
  anything();
  *kept += 7;
}

struct Holder {
  int *behind;
  int **beyond;
};

APART static void set_behind(Holder *holder) {
  anything();
  *holder->behind = 31;
}

APART static void set_beyond(Holder *holder) {
  anything();
  **holder->beyond = 32;
}

struct Cleaned {
  int one = 1;
  APART ~Cleaned() { anything(); }
};

APART static void in_a_scope_with_a_destructor() {
  int value = 0;
  Cleaned cleaned;
  set_or_throw(&value, 2);
  rdb_begin
    printf("set in a scope with a destructor: %d\n", value);
  rdb_end
  anything();
}

APART static void behind_an_exception() {
  int value = 1;
  try {
    set_or_throw(&value, 99);
  } catch (const std::exception &) {
    rdb_begin
      printf("set before an exception: %d\n", value);
    rdb_end
    anything();
  }
}

APART static void by_a_call_that_is_not_given_it() {
  int value = 5;
  keep(&value);
  value = 6;
  change_kept();
  rdb_begin
    printf("set by who has kept its address: %d\n", value);
  rdb_end
  change_kept();
  rdb_begin
    printf("set again: %d\n", value);
  rdb_end
  keep(nullptr);
}

APART static void behind_another() {
  int value = 3;
  Holder holder{&value, nullptr};
  holder.beyond = &holder.behind;
  set_behind(&holder);
  rdb_begin
    printf("set behind a structure: %d\n", value);
  rdb_end
  set_beyond(&holder);
  rdb_begin
    printf("set beyond it: %d\n", value);
  rdb_end
  anything();
}

APART static void one_of_two(bool first) {
  int one = 3;
  int two = 4;
  set(first ? &one : &two, 8);
  rdb_begin
    printf("one of two was set: %d %d\n", one, two);
  rdb_end
  anything();
}

APART static void atomically(int by) {
  int sum = 1;
  __atomic_fetch_add(&sum, by, __ATOMIC_SEQ_CST);
  rdb_begin
    printf("added to: %d\n", sum);
  rdb_end
  int expected = 12;
  __atomic_compare_exchange_n(&sum, &expected, 40, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  rdb_begin
    printf("exchanged: %d %d\n", sum, expected);
  rdb_end
  set(&sum, expected);
  set(&expected, sum);
}

APART static void in_parts(int at) {
  int value = 0x01020304;
  reinterpret_cast<char *>(&value)[at] = 0x55;
  rdb_begin
    printf("set in part: %x\n", value);
  rdb_end
  int copied = 7;
  memcpy(reinterpret_cast<char *>(&copied) + 1, &value, static_cast<size_t>(at));
  rdb_begin
    printf("copied to in part: %x\n", copied);
  rdb_end
  set(&value, copied);
  set(&copied, value);
}

APART static void call(void (*function)(void *), void *with) {
  anything();
  function(with);
}

APART static void by_a_callback() {
  int turns = 0;
  auto turn = [&turns] { turns += 2; };
  for (int i = 0; i < 2; i++) {
    call([](void *with) { (*static_cast<decltype(turn) *>(with))(); }, &turn);
    rdb_begin
      printf("turns: %d\n", turns);
    rdb_end
  }
  anything();
}

int main(int argc, char **) {
  in_a_scope_with_a_destructor();
  behind_an_exception();
  by_a_call_that_is_not_given_it();
  behind_another();
  one_of_two(argc > 1);
  atomically(argc + 10);
  in_parts(argc);
  by_a_callback();
}
