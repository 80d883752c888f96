// No library, a bss that begins in the last page of data.
static char data[5000] = "data";
static char bss[9000];
void _start(void) {
  bss[8999] = data[4999];
  asm volatile("syscall" : : "a"(60), "D"(bss[8999] == 0 ? 5 : 6) : "rcx", "r11", "memory");
  __builtin_unreachable();
}
