// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message.h"

#include <string.h>

static const char* const kNames[] = {"debug", "info", "warning", "error"};

const char* level_name(enum level level) {
  return kNames[level];
}

bool message_parse(char* line, struct message* message) {
  char* source = strchr(line, ' ');
  if (!source) return false;
  *source++ = '\0';
  char* text = strchr(source, ' ');
  if (!text) return false;
  *text++ = '\0';
  message->source = source;
  message->text = text;
  for (int i = kDebug; i <= kError; i++) {
    if (strcmp(line, kNames[i]) == 0) {
      message->level = (enum level)i;
      return true;
    }
  }
  return false;
}
