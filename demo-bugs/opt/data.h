// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a file.
#pragma once

#include <stdbool.h>

struct data {
  unsigned char* bytes;
  int size;
};

// False if it cannot be read; why was said on standard error.
bool data_read(struct data* data, const char* path);
void data_free(struct data* data);
