#include <pthread.h>
static int squares[4];
static void* work(void* argument) {
  int number = (int)(long)argument;
  squares[number] = number * number;
  return 0;
}
int main(void) {
  pthread_t threads[4];
  for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void*)i);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  return squares[3];
}
