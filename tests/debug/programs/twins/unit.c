// A unit whose functions are run again as twins. `entry_*` are called by the test.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static int count = 10; // line: count
static int table[4] = {1, 2, 3, 4}; // line: table
static const int primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53}; // line: primes
static int never_read; // line: never_read
int shared_state = 5;
_Thread_local int in_thread = 7;
static _Thread_local int hidden_in_thread = 8; // line: hidden_in_thread
const char *last_text = "nothing yet";
int (*last_function)(int);

__attribute__((noinline)) static int twice(int x) {
  static int calls; // line: twice.calls
  calls += x;
  return calls * 2;
}

__attribute__((noinline)) static int thrice(int x) {
  static int calls = 3; // line: thrice.calls
  calls += x;
  return calls * 3;
}

FILE *entry_stream(void) { return stdout; }

__attribute__((noinline)) int entry_removed(int x) {
  never_read = x;
  return x;
}

#ifdef TWIN
void __rdb_fn_unit_0(void **arguments);
void __rdb_twin_call(void *frame);
int entry_region(int x) {
  void *arguments[] = {&x, &x};
  __rdb_twin_call(arguments);
  __rdb_fn_unit_0(arguments + 1);
  return x;
}
int missing_function(int x);
extern int missing_variable;
int entry_missing(int x) { return missing_function(x) + missing_variable; }
#endif

static inline int small(int x) { return x + 1; }

__attribute__((noinline)) int entry_statics(int x) {
  count += small(x);
  table[x & 3] += count;
  return twice(x) + thrice(x) + count + table[x & 3] + primes[x & 15];
}

__attribute__((noinline)) int entry_switch(int x) {
  switch (x) {
  case 0: return puts_like("none");
  case 1: return puts_like("one");
  case 2: return shared_state;
  case 3: return puts_like("three") + 1;
  case 4: return x * 7;
  case 5: return puts_like("") + 2;
  default: return puts_like("twenty three");
  }
}

__attribute__((noinline)) int entry_goto(const unsigned char *code) {
  static const void *const labels[] = {&&add, &&negate, &&stop};
  int value = 0;
  goto *labels[*code++];
add:
  value += 5;
  goto *labels[*code++];
negate:
  value = -value;
  goto *labels[*code++];
stop:
  return value + count;
}

__attribute__((noinline)) int entry_goto_too(int x) {
  static void *labels[] = {&&one, &&two};
  goto *labels[x & 1];
one:
  return x + count;
two:
  return x - count;
}

__attribute__((noinline)) int entry_threads(int x) {
  in_thread += x;
  hidden_in_thread += 2 * x;
  return in_thread * 100 + hidden_in_thread;
}

__attribute__((noinline)) int entry_pointers(int x) {
  last_function = x & 1 ? twice : entry_switch;
  last_text = x & 2 ? "a literal of some length" : "length";
  return last_function(x);
}

__attribute__((noinline)) int entry_text(char *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(to, 100, format, arguments);
  va_end(arguments);
  return size + (int)strlen(to) + other_unit(size);
}

int entry_alias(int x) __attribute__((alias("entry_statics")));

static int nameless(int x) { return x + count; }
int entry_other_name(int x) __attribute__((alias("nameless")));

static int plain_answer(int x) { return x + 40; }
static int (*answer_resolver(void))(int) { return plain_answer; }
int entry_ifunc(int x) __attribute__((ifunc("answer_resolver")));

__attribute__((noinline)) int entry_calls(int x) { return entry_ifunc(x) + entry_alias(x) + twice(x) + twice(x + 1) + small(x); }

int __attribute__((weak)) nobody_has_this(void);
__attribute__((noinline)) int entry_weak(int x) { return nobody_has_this != 0 ? nobody_has_this() : x; }
