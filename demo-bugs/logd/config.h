// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What goes into the log, and where that is.
//
//   log FILE            the file
//   rotate BYTES KEEP   a new one is begun before it grows beyond this; the old ones are FILE.1 to FILE.KEEP
//   level SOURCE LEVEL  the least level that counts for this source; "*" is all that are not named
#pragma once

#include "message.h"

enum { kMaxRules = 16, kMaxName = 32 };

struct rule {
  char source[kMaxName];
  enum level least;
};

struct config {
  char path[256];
  long rotate_at; // 0: never
  int keep;
  int rule_count;
  struct rule rules[kMaxRules];
};

// False if it cannot be read or is wrong; what is wrong was said on standard error.
bool config_read(struct config* config, const char* path);
bool config_wants(const struct config* config, const struct message* message);
