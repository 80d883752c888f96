// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data.h"

#include <stdio.h>
#include <stdlib.h>

struct data data_read(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  struct data data = {NULL, (int)ftell(file)};
  rewind(file);
  data.bytes = malloc((size_t)data.size + 1);
  if (!data.bytes || fread(data.bytes, 1, (size_t)data.size, file) != (size_t)data.size) exit(1);
  fclose(file);
  return data;
}
