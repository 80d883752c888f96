// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that changes while it is used: an immediate patched before every call, data in the same page as code,
// code that changes the instruction right behind the store, and code that is made anew again and again.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t (*function)(uint64_t);

static uint8_t* page;

// lea IMM(%rdi), %rax; ret
static function make_adder(uint8_t* at, int32_t amount) {
  static const uint8_t code[] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};
  memcpy(at, code, sizeof code);
  memcpy(at + 3, &amount, 4);
  return (function)(uintptr_t)at;
}

static uint64_t patched_immediate(int rounds) {
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    function f = make_adder(page, i * 7);
    sum = sum * 31 + f(sum) + f(3);
  }
  return sum;
}

// A function that is not changed, beside a counter that is.
static uint64_t data_beside_code(int rounds) {
  function f = make_adder(page + 64, 5);
  volatile uint64_t* counter = (uint64_t*)(page + 128);
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    *counter += f(sum);
    sum += *counter & 0xff;
  }
  return sum;
}

// movb %dil, 1f-3(%rip) writes the immediate of the instruction that comes right after it.
static uint64_t the_next_instruction(int rounds) {
  static const uint8_t code[] = {
      0x31, 0xc0,                               // xor %eax, %eax
      0x40, 0x88, 0x3d, 0x01, 0x00, 0x00, 0x00, // mov %dil, 1(%rip)
      0xb8, 0x11, 0x00, 0x00, 0x00,             // mov $0x11, %eax
      0x05, 0x00, 0x01, 0x00, 0x00,             // add $0x100, %eax
      0xc3,
  };
  function f = (function)(uintptr_t)memcpy(page + 256, code, sizeof code);
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++)
    sum = sum * 131 + f((uint64_t)i & 0x7f);
  return sum;
}

// The loop's own body counts down in its code: sub $1 becomes sub $2 half-way.
static uint64_t a_loop_that_changes_itself(int rounds) {
  static const uint8_t code[] = {
      0x31, 0xc0,                               // xor %eax, %eax
      0xff, 0xc0,                               // 1: inc %eax
      0x83, 0xf8, 0x32,                         // cmp $50, %eax
      0x75, 0x07,                               // jne 2f
      0xc6, 0x05, 0x03, 0x00, 0x00, 0x00, 0x02, // movb $2, 3(%rip): the subtrahend
      0x48, 0x83, 0xef, 0x01,                   // 2: sub $1, %rdi
      0x7f, 0xec,                               // jg 1b
      0xc3,
  };
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    function f = (function)(uintptr_t)memcpy(page + 512, code, sizeof code);
    sum = sum * 131 + f(200);
  }
  return sum;
}

// As a compiler that runs in the program does it: write, make executable, run, make writable again.
static uint64_t made_anew(int rounds) {
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint8_t* fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    function f = make_adder(fresh + (i * 16) % 2048, i);
    mprotect(fresh, 4096, PROT_READ | PROT_EXEC);
    sum = sum * 17 + f(sum);
    munmap(fresh, 4096);
  }
  return sum;
}

// The kernel writes code, too.
static uint64_t read_from_a_pipe(int rounds) {
  int fds[2];
  if (pipe(fds) != 0) return 0;
  uint64_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint8_t code[8] = {0x48, 0x8d, 0x87, (uint8_t)i, 0, 0, 0, 0xc3};
    if (write(fds[1], code, 8) != 8 || read(fds[0], page + 1024, 8) != 8) return 0;
    sum = sum * 13 + ((function)(uintptr_t)(page + 1024))(sum);
  }
  return sum;
}

int main(void) {
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("patched immediate %016lx\n", patched_immediate(3000));
  printf("data beside code %016lx\n", data_beside_code(3000));
  printf("the next instruction %016lx\n", the_next_instruction(2000));
  printf("a loop that changes itself %016lx\n", a_loop_that_changes_itself(50));
  printf("made anew %016lx\n", made_anew(200));
  printf("read from a pipe %016lx\n", read_from_a_pipe(200));
  printf("patched immediate %016lx\n", patched_immediate(3000));
  return 0;
}
