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

// The root of a number that is not negative, by Newton's method.
static double root(double square) {
  double guess = square > 1 ? square : 1;
  for (double next; (next = (guess + square / guess) / 2) < guess;)
    guess = next;
  return guess;
}

struct statistics slice_statistics(struct slice slice, const struct data* data) {
  struct statistics result = {255, 0, 0, 0};
  double squares = 0;
  for (int i = 0; i < slice.length; i++) {
    int value = data->bytes[slice.offset + i];
    if (value < result.least) result.least = value;
    if (value > result.most) result.most = value;
    // Welford's way: no sum of squares that grows without bounds.
    double delta = value - result.mean;
    result.mean += delta / (i + 1);
    squares += delta * (value - result.mean);
  }
  if (slice.length > 0) result.deviation = root(squares / slice.length);
  return result;
}

int slice_lines(struct slice slice, const struct data* data) {
  int lines = 0;
  for (int i = 0; i < slice.length; i++)
    lines += data->bytes[slice.offset + i] == '\n';
  return lines;
}
