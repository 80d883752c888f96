int total;
__attribute__((noinline)) void hit(int i) {
  total += i;
}
int main(void) {
  for (int i = 0; i < HITS; i++)
    hit(i);
  return total == 1;
}
