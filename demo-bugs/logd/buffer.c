// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "buffer.h"

#include "logfile.h"

#include <stdio.h>

enum { kLines = 4, kLineSize = 96 };

struct line {
  char text[kLineSize];
  int length;
};

static struct line lines[kLines];
static int used;

void buffer_add(const struct message* message) {
  if (used == kLines) buffer_flush();
  struct line* line = &lines[used++];
  char text[200];
  escape(text, sizeof text, message->text);
  line->length = snprintf(line->text, sizeof line->text, "%s %-7s [%s] %s\n", message->time,
                          level_name(message->level), message->source, text);
}

bool buffer_flush(void) {
  bool good = true;
  for (int i = 0; i < used; i++)
    good &= logfile_write(lines[i].text, (size_t)lines[i].length);
  used = 0;
  return good;
}
