// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "config.h"

#include <stdio.h>
#include <string.h>

static bool add_rule(struct config* config, const char* source, const char* level) {
  if (config->rule_count == kMaxRules) return false;
  struct rule* rule = &config->rules[config->rule_count];
  if (!level_parse(level, &rule->least)) return false;
  snprintf(rule->source, sizeof rule->source, "%s", source);
  config->rule_count++;
  return true;
}

static bool parse_line(struct config* config, const char* line) {
  char key[kMaxName], first[sizeof config->path] = "", second[kMaxName] = "";
  if (sscanf(line, "%31s %255s %31s", key, first, second) < 1 || key[0] == '#') return true;
  if (strcmp(key, "log") == 0) {
    snprintf(config->path, sizeof config->path, "%s", first);
    return first[0] != '\0';
  }
  if (strcmp(key, "rotate") == 0) {
    return sscanf(first, "%ld", &config->rotate_at) == 1 && sscanf(second, "%d", &config->keep) == 1 &&
           config->keep > 0 && config->keep < 10;
  }
  return strcmp(key, "level") == 0 && add_rule(config, first, second);
}

bool config_read(struct config* config, const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    return false;
  }
  memset(config, 0, sizeof *config);
  char line[512];
  int number = 0;
  bool good = true;
  while (good && fgets(line, sizeof line, file)) {
    number++;
    good = parse_line(config, line);
    if (!good) fprintf(stderr, "%s:%d: what is this? %s", path, number, line);
  }
  fclose(file);
  if (good && config->path[0] == '\0') {
    fprintf(stderr, "%s: no log is named\n", path);
    good = false;
  }
  return good;
}

bool config_wants(const struct config* config, const struct message* message) {
  enum level least = kInfo;
  for (int i = 0; i < config->rule_count; i++) {
    const struct rule* rule = &config->rules[i];
    if (strcmp(rule->source, message->source) == 0) return message->level >= rule->least;
    if (strcmp(rule->source, "*") == 0) least = rule->least;
  }
  return message->level >= least;
}
