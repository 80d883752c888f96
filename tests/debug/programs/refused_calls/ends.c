// The end of a program whose first region does not reach its own end.
int main(void) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    n++;
    rdb_begin
      int shared = 10 + i;
      printf("first %d\n", shared);
      WHAT;
    rdb_end
    n += 0;
    rdb_begin
      int other = 5;
      printf("second %d %d\n", n, shared);
    rdb_end
    n += 0;
    rdb_begin
      printf("third %d %d\n", n, other);
    rdb_end
    n++;
  }
  return n;
}
