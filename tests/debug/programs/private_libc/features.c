#include <rdb/rdb.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
rdb_begin_globals
#include <setjmp.h>
static FILE *journal;
static char *kept;
static int count = 3;
static __thread int mine = 40;
static jmp_buf place;
rdb_end_globals
int number = 7;
int main(void) {
  FILE *volatile out = stdout, *volatile err = stderr;
  errno = 0;
  close(-1);
  rdb_begin
    printf("errno %d count %d\n", errno, count);
    journal = fopen("journal.txt", "w");
    errno = EDOM;
    fprintf(out, "to the program's stdout\n");
    fputs("to its stderr\n", err);
    fprintf(journal, "number %d\n", number);
    kept = strdup("kept");
    mine++;
  rdb_end
  int seen = errno;
  printf("errno %d %.1f %s\n", seen, 2.5, setlocale(LC_ALL, 0));
  fflush(stdout);
  rdb_begin
    setlocale(LC_ALL, "C.UTF-8");
    kept = realloc(kept, 100000);
    strcat(kept, " and grown");
    printf("%s, %d, %s\n", kept, mine, setlocale(LC_ALL, 0));
    if (!setjmp(place)) longjmp(place, 1);
    printf("jumped\n");
    free(kept);
    fprintf(journal, "number %d\n", number + 1);
    fclose(journal);
  rdb_end
  number++;
  printf("%s\n", setlocale(LC_ALL, 0));
  return number;
}
