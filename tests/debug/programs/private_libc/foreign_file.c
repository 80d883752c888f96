#include <rdb/rdb.h>
#include <stdio.h>
int main(void) {
  FILE *file = fopen("/dev/null", "w");
  rdb_begin
    printf("before\n");
    fprintf(file, "into the program's own buffer\n");
    printf("not reached\n");
  rdb_end
  fputs("text", file);
  puts("program");
  return fclose(file);
}
