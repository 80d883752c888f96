// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "message.h"

#include <string.h>

static const char* const kNames[] = {"debug", "info", "warning", "error"};

const char* level_name(enum level level) {
  return kNames[level];
}

bool level_parse(const char* name, enum level* level) {
  for (int i = kDebug; i <= kError; i++) {
    if (strcmp(name, kNames[i]) == 0) {
      *level = (enum level)i;
      return true;
    }
  }
  return false;
}

// The word at *at; *at moves to the next one. Null if nothing follows the word.
static char* take_word(char** at) {
  char* word = *at;
  char* end = strchr(word, ' ');
  if (!end || end == word) return NULL;
  *end = '\0';
  *at = end + 1;
  return word;
}

bool message_parse(char* line, struct message* message) {
  char* at = line;
  message->time = take_word(&at);
  if (!message->time) return false;
  const char* level = take_word(&at);
  if (!level || !level_parse(level, &message->level)) return false;
  message->source = take_word(&at);
  message->text = at;
  return message->source && *at;
}

bool message_same(const struct message* a, const struct message* b) {
  return a->level == b->level && strcmp(a->source, b->source) == 0 && strcmp(a->text, b->text) == 0;
}

void escape(char* to, size_t room, const char* text) {
  static const char kDigits[] = "0123456789abcdef";
  char* end = to + room - 1;
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    bool plain = byte >= ' ' && byte <= '~' && byte != '\\';
    if (end - to < (plain ? 1 : 4)) break;
    if (plain) {
      *to++ = *text;
      continue;
    }
    *to++ = '\\';
    *to++ = 'x';
    *to++ = kDigits[byte / 16];
    *to++ = kDigits[byte % 16];
  }
  *to = '\0';
}
