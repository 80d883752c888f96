// A heap that takes no memory back that it has not given.
#include <stddef.h>
#include <string.h>
static char heap[1 << 24];
static size_t used;
static const char kMark[16] = "strict heap 15b";
void* malloc(size_t size) {
  size_t room = (size + 15) / 16 * 16;
  if (used + room + 32 > sizeof heap) return 0;
  char* block = heap + used + 32;
  memcpy(block - 16, kMark, 16);
  memcpy(block - 32, &size, sizeof size);
  used += room + 32;
  return block;
}
static void check(void* block) {
  if (memcmp((char*)block - 16, kMark, 16) != 0) __builtin_trap();
}
void free(void* block) {
  if (block) check(block);
}
void* calloc(size_t count, size_t size) { return malloc(count * size); }
void* realloc(void* block, size_t size) {
  void* fresh = malloc(size);
  if (!block || !fresh) return fresh;
  check(block);
  size_t old;
  memcpy(&old, (char*)block - 32, sizeof old);
  return memcpy(fresh, block, old < size ? old : size);
}
