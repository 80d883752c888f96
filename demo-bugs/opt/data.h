// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a file.
#pragma once

struct data {
  unsigned char* bytes;
  int size;
};

struct data data_read(const char* path); // ends the program if it cannot be read
