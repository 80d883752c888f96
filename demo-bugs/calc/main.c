// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// calc [FILE]: translates a file of statements, or standard input, and runs it.
#include "machine.h"
#include "translate.h"

#include <stdio.h>
#include <stdlib.h>

static char* read_all(FILE* file) {
  size_t size = 0;
  size_t room = 4096;
  char* text = malloc(room);
  while (text) {
    size += fread(text + size, 1, room - size - 1, file);
    if (feof(file) || ferror(file)) break;
    room *= 2;
    text = realloc(text, room);
  }
  if (!text) abort();
  text[size] = '\0';
  return text;
}

int main(int argc, char** argv) {
  FILE* file = argc > 1 ? fopen(argv[1], "r") : stdin;
  if (!file) {
    perror(argv[1]);
    return 1;
  }
  static struct code code;
  static struct machine machine;
  char* text = read_all(file);
  machine_start(&machine, &code);
  machine_run(&machine, translate(&code, text));
  free(text);
  return 0;
}
