// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// opt DATA INDEX: checks the parts of DATA that INDEX lists, and says what is in them. Status 1 if one is
// outside the data, or not what it was when the index was made.
#include "data.h"
#include "index.h"
#include "report.h"

#include <stdio.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: opt DATA INDEX\n");
    return 2;
  }
  struct data data;
  struct index index;
  if (!data_read(&data, argv[1]) || !index_open(&index, argv[2])) return 2;
  setlinebuf(stdout);
  struct totals totals = {0};
  struct part part;
  while (index_next(&index, &part))
    report_part(&part, &data, &totals);
  report_totals(&totals, &data);
  int errors = index.errors;
  index_close(&index);
  data_free(&data);
  return errors || totals.outside || totals.changed;
}
