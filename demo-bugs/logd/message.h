// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages as they come in: "LEVEL SOURCE TEXT", one a line.
#pragma once

#include <stdbool.h>

enum level { kDebug, kInfo, kWarning, kError };

struct message {
  enum level level;
  const char* source;
  const char* text;
};

// Cuts `line` into a message, in place. False if it is none.
bool message_parse(char* line, struct message* message);
const char* level_name(enum level level);
