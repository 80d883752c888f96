// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "input.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

// Reads some more. False at the end of the input.
static bool fill(struct input* input) {
  memmove(input->bytes, input->bytes + input->begin, input->end - input->begin);
  input->end -= input->begin;
  input->begin = 0;
  ssize_t count;
  do
    count = read(input->fd, input->bytes + input->end, kMaxLine - 1 - input->end);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  input->end += (size_t)count;
  return true;
}

char* input_line(struct input* input) {
  for (;;) {
    char* line = input->bytes + input->begin;
    char* newline = memchr(line, '\n', input->end - input->begin);
    if (newline) {
      *newline = '\0';
      input->begin = (size_t)(newline - input->bytes) + 1;
      return line;
    }
    bool full = input->end - input->begin == kMaxLine - 1;
    if (!full && fill(input)) continue;
    if (input->begin == input->end) return NULL;
    // A line that does not fit, or the last one, without an end.
    input->too_long += full;
    input->bytes[input->end] = '\0';
    line = input->bytes + input->begin;
    input->begin = input->end;
    return line;
  }
}
