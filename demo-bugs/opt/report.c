// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <stdio.h>

// The first bytes, with dots for what cannot be printed.
static void print_beginning(struct slice slice, const struct data* data) {
  enum { kShown = 16 };
  int count = slice.length < kShown ? slice.length : kShown;
  for (int i = 0; i < count; i++) {
    int byte = data->bytes[slice.offset + i];
    putchar(byte >= ' ' && byte <= '~' ? byte : '.');
  }
}

static void print_details(const struct part* part, const struct data* data) {
  struct statistics statistics;
  switch (part->kind) {
  case kText:
    printf("%d lines, \"", slice_lines(part->slice, data));
    print_beginning(part->slice, data);
    printf("\"");
    break;
  case kPixels:
    statistics = slice_statistics(part->slice, data);
    printf("from %d to %d, mean %.1f, deviation %.1f", statistics.least, statistics.most, statistics.mean,
           statistics.deviation);
    break;
  case kBytes:
    printf("%d bytes", part->slice.length);
    break;
  }
}

void report_part(const struct part* part, const struct data* data, struct totals* totals) {
  totals->parts++;
  printf("%-9s ", part->name);
  if (!slice_is_inside(part->slice, data)) {
    totals->outside++;
    printf("is not inside the data\n");
    return;
  }
  unsigned sum = slice_checksum(part->slice, data);
  printf("%08x ", sum);
  print_details(part, data);
  if (part->has_sum && part->sum != sum) {
    totals->changed++;
    printf(" CHANGED");
  }
  printf("\n");
}

void report_totals(const struct totals* totals, const struct data* data) {
  printf("%d parts of %d bytes: %d outside, %d changed\n", totals->parts, data->size, totals->outside,
         totals->changed);
}
