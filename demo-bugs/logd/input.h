// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lines that come in on a descriptor, in whatever pieces the senders and the kernel make of them.
#pragma once

#include <stddef.h>

enum { kMaxLine = 256 };

struct input {
  int fd;
  size_t begin, end; // of what was read and not handed out
  long too_long;     // lines that had to be cut
  char bytes[kMaxLine];
};

// The next line, without its end, valid until the next call. Null at the end of the input.
char* input_line(struct input* input);
