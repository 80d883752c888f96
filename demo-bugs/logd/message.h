// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages as they come in: "TIME LEVEL SOURCE TEXT", one a line.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum level { kDebug, kInfo, kWarning, kError };

struct message {
  const char* time;
  enum level level;
  const char* source;
  const char* text;
};

// Cuts `line` into a message, in place. False if it is none.
bool message_parse(char* line, struct message* message);
bool message_same(const struct message* a, const struct message* b); // but for the time

const char* level_name(enum level level);
bool level_parse(const char* name, enum level* level);

// Copies text and writes all that is not printable as \xNN, so that no message can play tricks on the
// terminal of whoever reads the log. What does not fit into `room` is left out.
void escape(char* to, size_t room, const char* text);
