// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// logd: takes messages from its standard input until that ends, and writes them to its standard output.
#include "buffer.h"
#include "message.h"

#include <stdio.h>
#include <string.h>

int main(void) {
  char line[512];
  long bad = 0;
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    struct message message;
    if (!message_parse(line, &message)) {
      bad++;
      continue;
    }
    if (message.level > kDebug) buffer_add(&message);
    if (message.level == kError) buffer_flush();
  }
  buffer_flush();
  return bad > 0;
}
