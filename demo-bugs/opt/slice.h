// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A part of some data: where it begins, how long it is, and what can be said about the bytes in it.
#pragma once

#include "data.h"

#include <stdbool.h>

struct slice {
  int offset;
  int length;
};

struct statistics {
  int least, most;
  double mean;
  double deviation; // the standard one
};

bool slice_is_inside(struct slice slice, const struct data* data);

// These take a slice that is inside the data.
unsigned slice_checksum(struct slice slice, const struct data* data);
struct statistics slice_statistics(struct slice slice, const struct data* data);
int slice_lines(struct slice slice, const struct data* data);
