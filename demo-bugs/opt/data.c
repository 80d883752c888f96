// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "data.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

bool data_read(struct data* data, const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return false;
  }
  *data = (struct data){NULL, 0};
  // In pieces, so that pipes can be read too.
  for (size_t room = 0, count = 1; count > 0; data->size += (int)count) {
    if ((size_t)data->size == room) {
      room = room ? 2 * room : 4096;
      unsigned char* bytes = room <= INT_MAX ? realloc(data->bytes, room) : NULL;
      if (!bytes) {
        fprintf(stderr, "%s: too large\n", path);
        fclose(file);
        data_free(data);
        return false;
      }
      data->bytes = bytes;
    }
    count = fread(data->bytes + data->size, 1, room - (size_t)data->size, file);
  }
  bool good = !ferror(file);
  if (!good) perror(path);
  fclose(file);
  return good;
}

void data_free(struct data* data) {
  free(data->bytes);
  *data = (struct data){NULL, 0};
}
