#include <stdio.h>
#include <stdlib.h>
static inline int clamp(int value, int most) {
  int result = value;
  if (value > most) result = most;
  return result;
}
int main(int argc, char** argv) {
  int sum = 0;
  for (int i = 1; i < argc; i++) {
    sum += clamp(atoi(argv[i]), 5);
    sum += clamp(atoi(argv[i]), 7);
  }
  printf("%d\n", sum);
  return 0;
}
