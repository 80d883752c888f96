// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process, its child and its grandchild, which ends with status 5; each says what it is.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int generation;

int deeper(int levels) {
  int status = 0;
  pid_t child = levels > 0 ? fork() : -1;
  if (child == 0) {
    generation++; // child
    _exit(deeper(levels - 1));
  }
  printf("generation %d\n", generation);
  fflush(stdout);
  if (child > 0) wait(&status);
  return generation == 2 ? 5 : WEXITSTATUS(status) - 1; // end
}

int main(void) {
  return deeper(2);
}
