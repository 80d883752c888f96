#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
unsigned char *page;
int (*volatile code)(void);
int main(void) {
  static const unsigned char five[] = {0xb8, 5, 0, 0, 0, 0xc3};
  page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, five, sizeof five);
  code = (int (*)(void))page;
  int sum = code();
  for (int i = 0; i < 3; i++) {
    sum += code();
    rdb_begin
      page[1] = 6;
      printf("%d", code());
      sscanf("7", "%hhu", page + 1);
      printf(" %d", code());
      memset(page + 1, 0, 1);
      page[1] += 9;
      printf(" %d\n", code());
    rdb_end
    sum += code();
  }
  printf("%d\n", sum);
  return 0;
}
