// Lines of output; with one argument also several blocks of log, with two also a file that others can write to.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int total;
__attribute__((noinline)) void hit(int i) {
  total += i;
}
int main(int argc, char **argv) {
  if (argc > 2) { // others can write to this
    int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) return 1;
  }
  for (int i = 0; i < 5; i++) {
    hit(i);
    printf("%d\n", i);
    fflush(stdout);
  }
  static char bytes[1 << 20]; // several blocks of the log
  int random = argc == 2 ? open("/dev/urandom", O_RDONLY) : -1;
  if (argc == 2 && read(random, bytes, sizeof bytes) != sizeof bytes) return 1;
  return 7;
}
