// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct config* config;
static int fd = -1;
static long size;

bool logfile_open(const struct config* with) {
  config = with;
  fd = open(config->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) {
    perror(config->path);
    return false;
  }
  size = status.st_size;
  return true;
}

void logfile_close(void) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// FILE.2 becomes FILE.3, FILE.1 becomes FILE.2, FILE becomes FILE.1, and a new one is begun.
static bool rotate(void) {
  char from[300], to[300];
  logfile_close();
  for (int i = config->keep; i > 0; i--) {
    snprintf(to, sizeof to, "%s.%d", config->path, i);
    snprintf(from, sizeof from, i > 1 ? "%s.%d" : "%s", config->path, i - 1);
    if (rename(from, to) != 0 && errno != ENOENT) perror(to);
  }
  return logfile_open(config);
}

bool logfile_write(const char* bytes, size_t length) {
  if (config->rotate_at && size > 0 && size + (long)length > config->rotate_at && !rotate()) return false;
  while (length > 0) {
    ssize_t written = write(fd, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    length -= (size_t)written;
    size += written;
  }
  return true;
}
