// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes rdb over: finds the translated copy of one of its own functions in rdb's code cache, overwrites it
// with a system call that rdb knows nothing of, mkdir(argv[1]), and calls the function again. It works under
// rdb only.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MARK "0x5a17c0de0ddba11"
static const volatile uint64_t kInvertedMark = ~0x5a17c0de0ddba11ull; // the mark itself is in `victim` only
static const unsigned char kRoom[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
static const unsigned char kCall[] = {0xb8, 83,  0, 0, 0, // mov $SYS_mkdir, %eax
                                      0x0f, 0x05};        // syscall

__attribute__((noinline, naked)) static void victim(const char* name, long mode) {
  __asm__("movabs $" MARK ", %rax\n"
          ".rept 40\n nop\n .endr\n"
          "ret");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  victim(argv[1], 0700);
  unsigned char* cache = (unsigned char*)0x60000000; // guest/memory/layout.cc
  unsigned char* end = cache + (2 << 20);
  int copies = 0;
  for (unsigned char* at = cache; at < end; ++at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    if (~word != kInvertedMark) continue;
    unsigned char* room = memmem(at, 48, kRoom, sizeof kRoom);
    if (room == NULL) continue;
    memcpy(room, kCall, sizeof kCall);
    ++copies;
  }
  victim(argv[1], 0700);
  printf("%d overwritten\n", copies);
  return 0;
}
