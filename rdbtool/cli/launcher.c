// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bin/rdb of a relocatable installation: starts the real rdb with the loader and the libraries that lie
// beside it, so that nothing of the system's is needed. Linked statically.
// rdbtool/guest/host/own_executable.cc knows these words.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char folder[PATH_MAX], loader[PATH_MAX + 64], libraries[PATH_MAX + 64], program[PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  for (int level = 0; level < 2 && length > 0; level++) { // bin/rdb
    char* slash = strrchr(folder, '/');
    if (slash) *slash = '\0';
  }
  snprintf(loader, sizeof loader, "%s/lib/rdb/ld-linux-x86-64.so.2", folder);
  snprintf(libraries, sizeof libraries, "%s/lib/rdb", folder);
  snprintf(program, sizeof program, "%s/lib/rdb/bin/rdb", folder);
  char** words = malloc(((size_t)argc + 4) * sizeof *words);
  if (length <= 0 || !words) {
    fputs("rdb: cannot find its own files: is /proc mounted?\n", stderr);
    return 125;
  }
  words[0] = loader;
  words[1] = "--library-path";
  words[2] = libraries;
  words[3] = program;
  for (int i = 1; i <= argc; i++)
    words[3 + i] = argv[i]; // with the null at the end
  execv(loader, words);
  fprintf(stderr, "rdb: %s: %s\n", loader, strerror(errno));
  return 125;
}
