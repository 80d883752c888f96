// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "slice.h"

bool slice_is_inside(struct slice slice, const struct data* data) {
  if (slice.offset < 0 || slice.length < 0) return false;
  int end = slice.offset + slice.length;
  if (end < slice.offset) return false; // too large for an int
  return end <= data->size;
}

unsigned slice_checksum(struct slice slice, const struct data* data) {
  unsigned sum = 2166136261u;
  for (int i = 0; i < slice.length; i++)
    sum = (sum ^ data->bytes[slice.offset + i]) * 16777619u;
  return sum;
}
