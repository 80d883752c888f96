// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "buffer.h"

#include <stdio.h>
#include <unistd.h>

enum { kLines = 4, kLineSize = 96 };

struct line {
  char text[kLineSize];
  int length;
};

static struct line lines[kLines];
static int used;
static int number;

void buffer_add(const struct message* message) {
  if (used == kLines) buffer_flush();
  struct line* line = &lines[used++];
  line->length = snprintf(line->text, sizeof line->text, "%04d %-7s [%s] %s\n", ++number,
                          level_name(message->level), message->source, message->text);
}

void buffer_flush(void) {
  for (int i = 0; i < used; i++) {
    const char* at = lines[i].text;
    int left = lines[i].length;
    while (left > 0) {
      ssize_t written = write(STDOUT_FILENO, at, (size_t)left);
      if (written <= 0) return;
      at += written;
      left -= (int)written;
    }
  }
  used = 0;
}
