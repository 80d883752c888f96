// As many children as the argument says make a call that rdb cannot record.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv) {
  for (int i = 0; i < atoi(argv[1]); i++)
    if (fork() == 0) {
      int number = 20;
      asm volatile("int $0x80" : "+a"(number));
      _exit(0);
    }
  while (wait(0) > 0) {
  }
  return argc == 2 ? 0 : 1;
}
