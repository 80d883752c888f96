// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A signal that comes around an execve is not lost: either the handler runs before, or the new program, which
// has none, dies of it.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_parent;

static void handler(int number) {
  char byte = 'h';
  (void)number;
  if (write(to_parent, &byte, 1) != 1) _exit(3);
}

static void child(int ready, int input) {
  dup2(input, 0);
  signal(SIGUSR1, handler);
  if (write(ready, "r", 1) != 1) _exit(3);
  // The program below must not keep the pipe open: its end tells the parent that no handler ran.
  execl("/bin/cat", "cat", (char*)NULL);
  _exit(4);
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? argv[1][0] - '0' : 3;
  int handled = 0, died = 0, lost = 0;
  for (int round = 0; round < rounds * 10; ++round) {
    int pipe_of_child[2], input[2];
    if (pipe2(pipe_of_child, 02000000) != 0 || pipe2(input, 02000000) != 0) return 2;
    pid_t pid = fork();
    if (pid == 0) {
      to_parent = pipe_of_child[1];
      child(pipe_of_child[1], input[0]);
    }
    close(pipe_of_child[1]);
    close(input[0]);
    char byte;
    if (read(pipe_of_child[0], &byte, 1) != 1 || byte != 'r') return 2;
    for (volatile int spin = 0; spin < round * 2000; ++spin)
      ;
    kill(pid, SIGUSR1);
    int ran = read(pipe_of_child[0], &byte, 1) == 1 && byte == 'h';
    close(input[1]); // cat ends
    int status;
    waitpid(pid, &status, 0);
    int fatal = WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
    handled += ran;
    died += fatal;
    lost += !ran && !fatal;
    close(pipe_of_child[0]);
  }
  printf("rounds %d\nboth or one %s\nlost %d\n", rounds * 10, handled + died >= rounds * 10 ? "yes" : "no",
         lost);
  return lost != 0;
}
