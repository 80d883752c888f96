printf("%d", sscanf("77 88 9.5 word", "%d %ld %lf %63s", &p->number, &p->big, &p->real, p->text));
printf(" %d %ld %g %s", p->number, p->big, p->real, p->text);
// prints: 4 77 88 9.5 word
sscanf("1 2 3 4 5 6 7 8", "%*d %d %d %d %d %d %d %d", &p->table[0], &p->table[1], &p->table[2], &p->table[3],
&p->table[4], &p->number, &p->table[5]);
printf("%d %d %d", p->table[0], p->number, p->table[5]);
// prints: 2 7 8
printf("%d %d", by_list("5 6", "%d %d", &p->number, &p->table[1]), p->number + p->table[1]);
// prints: 2 11
FILE *f = fopen("input", "r"); printf("%d", fscanf(f, "%d %63s", &p->number, p->text));
printf(" %d %s", p->number, p->text); fclose(f);
// prints: 2 31 line
FILE *f = fopen("input", "r"); fgets(p->text, 20, f); printf("%s", strtok(p->text, "\n")); fclose(f);
// prints: 31 line
FILE *f = fopen("/bin/sh", "r"); printf("%zu %.3s", fread(p->room, 1, sizeof p->room, f), p->room + 1); fclose(f);
// prints: 20000 ELF
FILE *f = fopen("input", "r"); printf("%zd %s", getdelim(&p->line, &p->size, ' ', f), p->line); fclose(f);
// prints: 3 31 
printf("%ld", strtol("123abc", &p->end, 10)); printf(" %s", p->end);
// prints: 123 abc
printf("%g", strtod("1.5xyz", &p->end)); printf(" %s", p->end);
// prints: 1.5 xyz
printf("%d", clock_gettime(CLOCK_REALTIME, &p->ts)); printf(" %d", p->ts.tv_sec > 0);
// prints: 0 1
printf("%d", clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &p->ts)); printf(" %d", p->ts.tv_sec + p->ts.tv_nsec > 0);
// prints: 0 1
printf("%d", gettimeofday(&p->tv, 0)); printf(" %d", p->tv.tv_sec > 0); time(&p->now); printf(" %d", p->now > 0);
// prints: 0 1 1
time_t zero = 0; gmtime_r(&zero, &p->tm); printf("%d", p->tm.tm_year); strftime(p->text, 20, "%Y", &p->tm);
printf(" %s", p->text);
// prints: 70 1970
p->tm.tm_mday += 40; mktime(&p->tm); printf("%d", p->tm.tm_mday <= 31);
// prints: 1
printf("%d", stat("/bin/sh", &p->st)); printf(" %d", p->st.st_size > 0);
// prints: 0 1
int fd = open("/bin/sh", O_RDONLY); printf("%zd", read(fd, p->room, sizeof p->room)); close(fd);
printf(" %.3s", p->room + 1);
// prints: 20000 ELF
int fd = open("/bin/sh", O_RDONLY); printf("%zd", pread(fd, p->room, sizeof p->room, 0)); close(fd);
printf(" %.3s", p->room + 1);
// prints: 20000 ELF
int fd = open("/bin/sh", O_RDONLY); struct iovec v[2] = {{p->room, 10000}, {p->room + 10000, 10000}};
printf("%zd", readv(fd, v, 2)); close(fd); printf(" %.3s", p->room + 1);
// prints: 20000 ELF
int fd = open("/bin/sh", O_RDONLY); printf("%ld", syscall(SYS_read, fd, p->room, sizeof p->room)); close(fd);
printf(" %.3s", p->room + 1);
// prints: 20000 ELF
int fd[2]; printf("%d", socketpair(AF_UNIX, SOCK_DGRAM, 0, fd)); write(fd[1], "message", 8);
printf(" %zd %s", recv(fd[0], p->room, sizeof p->room, 0), p->room);
// prints: 0 8 message
int fd[2]; socketpair(AF_UNIX, SOCK_DGRAM, 0, fd); write(fd[1], "message", 8); struct iovec v = {p->room, 100};
struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}; printf("%zd %s", recvmsg(fd[0], &m, 0), p->room);
// prints: 8 message
printf("%d", pipe(p->table) == 0 && p->table[0] > 2 && p->table[1] > 2);
// prints: 1
struct pollfd one = {1, POLLOUT, 0}; *(struct pollfd *)p->table = one;
printf("%d", poll((struct pollfd *)p->table, 1, 0));
// prints: 1
printf("%g", modf(3.25, &p->real)); printf(" %g", p->real);
// prints: 0.25 3
double half = frexp(6.0, &p->number); printf("%g %d", half, p->number);
// prints: 0.75 3
sincos(0, &p->real, &p->other); printf("%g %g", p->real, p->other);
// prints: 0 1
printf("%g", remquo(7.0, 2.0, &p->number)); printf(" %d", p->number);
// prints: -1 4
qsort(p->table, 6, sizeof *p->table, order); printf("%d %d", p->table[0], p->table[5]);
// prints: 1 6
qsort(p->table, 6, sizeof *p->table, own_order); printf("%d %d", p->table[0], p->table[5]);
// prints: 6 1
mbstowcs(p->wide, "hello", 20); printf("%ls", p->wide);
// prints: hello
swprintf(p->wide, 20, L"%d", 42); printf("%ls", p->wide); wcscat(p->wide, L"+"); printf("%ls", p->wide);
// prints: 4242+
wcstombs(p->text, L"narrow", 20); printf("%s", p->text);
// prints: narrow
printf("abc%n", &p->number); printf("%d", p->number);
// prints: abc3
char own[20]; sprintf(own, "ab%n", &p->number); snprintf(own, 20, "%.1fabc%n", 1.5, &p->table[0]);
printf("%d %d", p->number, p->table[0]);
// prints: 2 6
printf("%d %s", asprintf(&p->line, "%s!", "made"), p->line);
// prints: 5 made!
printf("%s", strtok(p->words, " ")); printf(" %s", strtok(0, " "));
// prints: one two
char *rest; printf("%s", strtok_r(p->words, " ", &rest)); printf(" %s", strtok_r(0, " ", &rest));
// prints: one two
char *rest = p->words; printf("%s", strsep(&rest, " ")); printf(" %s", strsep(&rest, " "));
// prints: one two
wchar_t *rest; swprintf(p->wide, 20, L"a b"); wcstok(p->wide, L" ", &rest); printf("%ls", wcstok(0, L" ", &rest));
// prints: b
iconv_t how = iconv_open("UTF-16LE", "UTF-8"); char *in = "ab", *to = p->text; size_t size = 2, room = 20;
iconv(how, &in, &size, &to, &room); printf("%d %d", p->text[0], p->text[1]);
// prints: 97 0
p->end = p->words; printf("%s", strsep(&p->end, " ")); printf(" %s", p->end);
// prints: one two three
printf("%s", realpath("/bin/../bin/true", p->room));
// prints: /usr/bin/true
printf("%d", getcwd(p->room, sizeof p->room) == p->room && p->room[0] == '/');
// prints: 1
printf("%d", uname((struct utsname *)p->room)); printf(" %s", p->room);
// prints: 0 Linux
struct rusage *usage = (struct rusage *)p->room; printf("%d", getrusage(RUSAGE_SELF, usage));
printf(" %d", usage->ru_maxrss > 0);
// prints: 0 1
swab("badc", p->text, 4); printf("%.4s", p->text);
// prints: abcd
printf("%d", inet_pton(AF_INET, "1.2.3.4", p->table)); printf(" %x", p->table[0]);
// prints: 1 4030201
jmp_buf *place = (jmp_buf *)p->room; if (!setjmp(*place)) longjmp(*place, 1); printf("jumped");
// prints: jumped
printf("%d", pthread_mutex_lock(&p->lock)); printf(" %d", pthread_mutex_trylock(&p->lock) != 0);
// prints: 0 1
printf("%d", sem_trywait(&p->semaphore)); printf(" %d", sem_trywait(&p->semaphore));
// prints: 0 -1
asm volatile("movl $55, %0" : "=m"(p->number)); printf("%d", p->number);
// prints: 55
asm volatile("movl $56, (%0)" : : "r"(&p->number)); printf("%d", p->number);
// prints: 56
asm volatile("movl $57, (%0)" : : "r"((long)&p->number) : "memory"); printf("%d", p->number);
// prints: 57
char *to = p->text; long n = 3; asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"('x') : "memory");
printf("%.3s", p->text);
// prints: xxx
void (*volatile bump)(struct all *) = bump_all; bump(p); sscanf("9", "%d", &p->number); bump(p);
printf("%d", p->number);
// prints: 10
jmp_buf place; int key = 1; if (!setjmp(place)) { jump_to = &place; bsearch(&key, p->table, 6, sizeof key, jumping); }
bump_all(p); time(&p->now); printf("%d", p->now > 1000);
// prints: 1
fillers[0](p->text); printf("%s", p->text);
// prints: filled
