// Makes a program of the units, which is only looked at.
#include "unit.h"
int main(int argc, char **argv) {
  const unsigned char code[] = {0, 1, 2};
  char text[100];
  return entry_statics(argc) + entry_switch(argc) + entry_goto(code) + entry_threads(argc) + entry_pointers(argc) +
         entry_text(text, "%d", argc) + entry_calls(argc) + entry_weak(argc) + (argv == 0);
}
