#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 1000);
  unsigned short control = 0, environment[14] = {0}, narrow = 0x27f;
  double value = 0;
  rdb_begin
    unsigned short coarse = 0xc7f;
    printf("%.2Lf\n", strtold("1", NULL) / 3);
    __asm__ volatile("fldl2e; fldcw %0" : : "m"(coarse));
  rdb_end
  rdb_begin
    unsigned short own;
    __asm__ volatile("fnstcw %0" : "=m"(own));
    printf("%x\n", own);
  rdb_end
  __asm__ volatile("fnstcw %0; fnstenv %1" : "=m"(control), "=m"(environment));
  printf("%x %x %x\n", control, environment[2], environment[4]);
  __asm__ volatile("fldcw %0; fldpi" : : "m"(narrow));
  rdb_begin
    printf("%.2Lf\n", strtold("2.5", NULL) / 3);
    __asm__ volatile("fldl2e");
  rdb_end
  __asm__ volatile("fnstcw %0; fstpl %1; fnstenv %2" : "=m"(control), "=m"(value), "=m"(environment));
  printf("%x %.5f %x\n", control, value, environment[4]);
  return 0;
}
