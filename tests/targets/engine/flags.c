// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the cases that flags_gen.py writes. One line per operation: a hash of the flags after it, over all
// inputs and block ends, and how many block ends changed the flags (none may). With an argument each case is
// printed, to find the one that differs.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "hash.h"

struct Case {
  const char *operation, *ending;
  void (*run)(const uint64_t* in, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t* flags);
};
extern const struct Case flag_cases[];

static void skip_load(int signal_number, siginfo_t* info, void* context) {
  (void)signal_number;
  (void)info;
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] += 7;
}

static uint64_t flags_after(const struct Case* c, const uint64_t* registers, uint64_t flags) {
  static uint64_t memory[8] __attribute__((aligned(16)));
  for (int i = 0; i < 8; i++)
    memory[i] = registers[i % 5] ^ (uint64_t)i * 0x0101010101010101u;
  uint64_t in[7];
  memcpy(in, registers, 5 * sizeof *in);
  in[5] = (uint64_t)memory;
  in[6] = flags;
  static const float kNumbers[4][4] = {{1, 2, 3, 4}, {-1, 2, 0, 8}, {0, 0, 0, 0}};
  asm volatile("movups %0, %%xmm0; movups %1, %%xmm1; movups %2, %%xmm2"
               :
               : "m"(kNumbers[0]), "m"(kNumbers[1]), "m"(kNumbers[2])
               : "xmm0", "xmm1", "xmm2");
  uint64_t result = 0;
  c->run(in, 0, 0, 0, 0, &result);
  return result;
}

int main(int argc, char** argv) {
  (void)argv;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = skip_load;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);

  static const uint64_t kRegisters[][5] = {
      {0x7fffffffffffffff, 1, 0x2003, 0x80, 5},
      {0x0123456789abcdef, 0x8000000080008080, 0x1122334455667741, 0xffff, 0x10},
  };
  static const uint64_t kFlags[] = {0x202, 0xad7, 0x247};
  uint64_t wanted[2 * 3];
  uint64_t hash = HASH_SEED;
  int changed = 0, cases = 0;
  for (const struct Case* c = flag_cases; c->operation != NULL; c++) {
    int first = c == flag_cases || c[-1].operation != c->operation;
    for (int r = 0; r < 2; r++) {
      for (int f = 0; f < 3; f++) {
        uint64_t flags = flags_after(c, kRegisters[r], kFlags[f]);
        if (first) wanted[r * 3 + f] = flags;
        hash = hash_word(hash, flags);
        cases++;
        int differs = flags != wanted[r * 3 + f];
        changed += differs;
        if (argc > 1 || differs)
          printf("%s / %s / registers %d flags %d: %llx%s\n", c->operation, c->ending, r, f,
                 (unsigned long long)flags, differs ? " CHANGED" : "");
      }
    }
    if (c[1].operation != c->operation) {
      printf("%-40s %016llx changed %d\n", c->operation, (unsigned long long)hash, changed);
      hash = HASH_SEED;
      changed = 0;
    }
  }
  printf("%d cases\n", cases);
  return 0;
}
