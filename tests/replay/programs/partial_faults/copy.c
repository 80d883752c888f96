// A copy that runs out of its buffer.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
char* buffer;
static char from[1 << 20];
int main(int argc, char** argv) {
  (void)argc;
  buffer = mmap(0, 65536 + 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(buffer + 65536, 4096, PROT_NONE);
  memset(from, 'A', sizeof from);
  char *to = buffer, *source = from;
  long size = atol(argv[1]);
  asm volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(size)::"memory");
  return 0;
}
