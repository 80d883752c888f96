printf("%d", initstate_r(5, p->state, sizeof p->state, &kept_data));
// prints: 0
int one; random_r(&kept_data, &one); printf("%d", one >= 0);
// prints: 1
char *rest = p->words; printf("%s", __strtok_r(0, " ", &rest));
// prints: one
int fd = open("/dev/zero", O_RDONLY); struct iovec to = {p->room + 10000, 100};
long n = syscall(SYS_readv, fd, &to, 1); printf("%d", n == 100 ? p->room[10000] == 0 : n == -1 && errno == EFAULT);
close(fd);
// prints: 1
by_wide_list(L"ab%n", &p->number); printf("%d", p->number);
// prints: 2
by_list("abc%n", &p->number); printf(" %d", p->number);
// prints: abc 3
FILE *f = fopen("/dev/null", "w"); fwprintf(f, L"%d of %5n", 5, &p->number); fclose(f); printf("%d", p->number);
// prints: 5
struct option options[] = {{"set", 0, &p->number, 42}, {0}}; char *words[] = {"name", "--set", 0};
read_options(words, options); printf("%d", p->number);
// prints: 42
void *root = p->tree; printf("%s", *(char **)tsearch("c", &root, own_order));
// prints: c
int (*volatile next)(struct random_data *, int *) = random_r; int one; next(&kept_data, &one); printf("%d", one >= 0);
// prints: 1
freeaddrinfo(p->address); char *own = malloc(sizeof *p->address); memset(own, 1, sizeof *p->address);
printf("%d", (void *)own != p->address); free(own);
// prints: 1
regex_t own = p->pattern; printf("%d", regexec(&own, "xaab", 0, 0, 0)); bump(p);
printf("%d", regexec(&own, "xcab", 0, 0, 0)); regfree(&own);
// prints: 01
