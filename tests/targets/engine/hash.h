// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FNV-1a: the guests print one number for many results, so that native and translated runs compare as text.
#ifndef RDB_TESTS_TARGETS_ENG_HASH_H
#define RDB_TESTS_TARGETS_ENG_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED 0xcbf29ce484222325ull

static inline uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
  const unsigned char* p = (const unsigned char*)data;
  for (size_t i = 0; i < size; i++) {
    hash ^= p[i];
    hash *= 0x100000001b3ull;
  }
  return hash;
}

static inline uint64_t hash_word(uint64_t hash, uint64_t word) {
  return hash_bytes(hash, &word, sizeof word);
}

#endif
