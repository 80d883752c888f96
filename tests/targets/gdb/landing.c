// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A little of all that a step can meet: calls, recursion, loops, several statements in a line, a system call.
// Nothing of it is in a library.
int calls;
volatile int done;

int twice(int n) {
  calls++;
  return n + n;
}

int down(int n) {
  if (n == 0) return 1;
  int rest = down(n - 1);
  return rest + n;
}

static long pid(void) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(39L) : "rcx", "r11", "memory");
  return result;
}

int work(int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; i++) // loop
    sum += twice(i);
  int a = sum, b = twice(twice(a)); // nested
  sum = b + down(2);
  if (pid() > 0) sum++;
  return sum;
}

int main(void) {
  int sum = work(2);
  done = sum; // end
  return 0;
}
