// Brings a script for gdb in a section of its own.
#include <stdio.h>
int total;
__attribute__((noinline)) void hit(int i) {
  total += i;
}
int main(void) {
  for (int i = 0; i < 3; i++)
    hit(i);
  printf("%d\n", total);
}
__asm__(".pushsection \".debug_gdb_scripts\", \"MS\",@progbits,1\n.byte 4\n.ascii \"gdb.inlined-script\\n\"\n"
        ".ascii \"open('RAN', 'a').write('section ')\\n\"\n.byte 0\n.popsection\n");
