// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// opt DATA INDEX: the checksum of each part of DATA that INDEX lists, as "NAME OFFSET LENGTH" a line.
#include "data.h"
#include "slice.h"

#include <stdio.h>

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: opt DATA INDEX\n");
    return 2;
  }
  struct data data = data_read(argv[1]);
  FILE* index = fopen(argv[2], "r");
  if (!index) {
    perror(argv[2]);
    return 1;
  }
  setlinebuf(stdout);
  char name[32];
  struct slice slice;
  while (fscanf(index, "%31s %d %d", name, &slice.offset, &slice.length) == 3) {
    if (!slice_is_inside(slice, &data)) {
      printf("%s: not inside\n", name);
      continue;
    }
    printf("%s: %08x\n", name, slice_checksum(slice, &data));
  }
  fclose(index);
  return 0;
}
