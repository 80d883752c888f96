// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An index: which parts a file has, and what is known about them. Its lines are
//
//   NAME KIND OFFSET LENGTH [SUM]
//
// KIND is text, pixels or bytes; the numbers are decimal or, with 0x, hexadecimal. "#" begins a comment.
#pragma once

#include "slice.h"

#include <stdio.h>

enum { kMaxName = 32 };

enum kind { kText, kPixels, kBytes };

struct part {
  char name[kMaxName];
  enum kind kind;
  struct slice slice;
  bool has_sum;
  unsigned sum; // what it was when the index was made
};

struct index {
  const char* path;
  FILE* file;
  int line; // the number of the one read last
  int errors;
};

bool index_open(struct index* index, const char* path);
// The next part. Lines that are wrong are reported, counted and skipped. False at the end.
bool index_next(struct index* index, struct part* part);
void index_close(struct index* index);
