// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two children: one ends well, the other one uses memory that it had freed. Each says so in its own status.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(int which) {
  int* numbers = malloc(40);
  numbers[2] = which;
  if (which == 1) free(numbers);
  int result = numbers[2];
  if (which == 0) free(numbers);
  return result;
}

int main(void) {
  for (int which = 0; which < 2; ++which) {
    pid_t pid = fork();
    if (pid == 0) _exit(child(which));
    int status = 0;
    waitpid(pid, &status, 0);
    printf("child %d: %d\n", which, WEXITSTATUS(status));
    fflush(stdout);
  }
  return 0;
}
