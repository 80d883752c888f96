// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "index.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool index_open(struct index* index, const char* path) {
  *index = (struct index){.path = path, .file = fopen(path, "r")};
  if (!index->file) perror(path);
  return index->file != NULL;
}

void index_close(struct index* index) {
  fclose(index->file);
}

static bool parse_kind(const char* word, enum kind* kind) {
  static const char* const kNames[] = {"text", "pixels", "bytes"};
  for (int i = kText; i <= kBytes; i++) {
    if (strcmp(word, kNames[i]) != 0) continue;
    *kind = (enum kind)i;
    return true;
  }
  return false;
}

static bool parse_number(const char* word, int* number) {
  char* end;
  errno = 0;
  long value = strtol(word, &end, 0);
  if (errno || end == word || *end || value < INT_MIN || value > INT_MAX) return false;
  *number = (int)value;
  return true;
}

// What is wrong with the line; null if nothing is.
static const char* parse_line(char* line, struct part* part) {
  char* words[6] = {NULL};
  int count = 0;
  for (char* word = strtok(line, " \t\n"); word && count < 6; word = strtok(NULL, " \t\n"))
    words[count++] = word;
  if (count < 4 || count > 5) return "a name, a kind, an offset, a length and perhaps a sum are expected";
  if (strlen(words[0]) >= kMaxName) return "the name is too long";
  strcpy(part->name, words[0]);
  if (!parse_kind(words[1], &part->kind)) return "the kind is not known";
  if (!parse_number(words[2], &part->slice.offset)) return "the offset is no number";
  if (!parse_number(words[3], &part->slice.length)) return "the length is no number";
  part->has_sum = count == 5;
  if (part->has_sum && sscanf(words[4], "%x", &part->sum) != 1) return "the sum is no number";
  return NULL;
}

bool index_next(struct index* index, struct part* part) {
  char line[256];
  while (fgets(line, sizeof line, index->file)) {
    index->line++;
    line[strcspn(line, "#")] = '\0';
    if (line[strspn(line, " \t\n")] == '\0') continue;
    const char* wrong = parse_line(line, part);
    if (!wrong) return true;
    fprintf(stderr, "%s:%d: %s\n", index->path, index->line, wrong);
    index->errors++;
  }
  return false;
}
