// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A signal to the own process group, or to all processes, reaches the caller as one to itself does (that to
// all does not), and nothing else changes: kill_self HOW SIGNAL, where HOW is one of the names below.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** words) {
  if (count < 3) return 2;
  int signal = atoi(words[2]);
  write(1, "before\n", 7);
  if (!strcmp(words[1], "group")) kill(0, signal);
  if (!strcmp(words[1], "named-group")) kill(-getpgrp(), signal);
  if (!strcmp(words[1], "self")) kill(getpid(), signal);
  if (!strcmp(words[1], "thread")) syscall(SYS_tgkill, getpid(), gettid(), signal);
  if (!strcmp(words[1], "all")) kill(-1, signal);
  if (!strcmp(words[1], "child") && fork() == 0) {
    kill(0, signal);
    _exit(0);
  }
  if (!strcmp(words[1], "child")) pause();
  write(1, "after\n", 6);
  return 3;
}
