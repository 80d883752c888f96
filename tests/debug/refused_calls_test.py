# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What debug code must not do to the process that it runs in is refused by name, wherever its region stands; the replay goes
on. Every recording has hashes of memory and registers, which the replay checks."""
import re

import harness

# A call, and the name in the message if it is not the call's own.
CALLS = r"""
exit(9)
_exit(9)
_Exit(9)
quick_exit(9)
abort()
pthread_exit(0)
thrd_exit(0)
on_exit(on_end, 0)
at_quick_exit(at_end)
fork()
vfork()
system("true")
popen("true", "r")
posix_spawnp(0, "true", 0, 0, 0, 0)
execlp("true", "true", (char *)0)
daemon(0, 0)
pthread_create(&thread, 0, work, 0)
thrd_create(&thread, 0, 0)
pthread_cancel(pthread_self())
signal(SIGINT, SIG_IGN)
sysv_signal(SIGINT, SIG_IGN)
sigaction(SIGSEGV, &action, 0)
sigprocmask(SIG_BLOCK, &signals, 0)
pthread_sigmask(SIG_BLOCK, &signals, 0)
sigsuspend(&signals)
siginterrupt(SIGUSR1, 1)
pause()
alarm(1)
ualarm(1, 1)
setitimer(ITIMER_REAL, &interval, 0)
timer_create(CLOCK_REALTIME, 0, &timer)
raise(SIGTERM)
raise(SIGSTOP)
kill(getpid(), SIGKILL)
kill(0, SIGUSR1)
killpg(0, SIGTERM)
tgkill(getpid(), gettid(), SIGTERM)
pthread_kill(pthread_self(), SIGTERM)
sigqueue(getpid(), SIGTERM, (union sigval){0})
prctl(PR_SET_SECCOMP, 1)
ptrace(PTRACE_TRACEME, 0, 0, 0)
setrlimit(RLIMIT_CPU, &limit)
prlimit(0, RLIMIT_AS, &limit, 0)
unshare(CLONE_FILES)
chdir("/")
fchdir(0)
close_range(3, 99, 0)
close(1)
close(2)
dup2(2, 1)
fclose(stdout)
fclose(stderr)
freopen("/dev/null", "w", stdout)
munmap((void *)((unsigned long)&i & -4096), 4096)
mprotect((void *)((unsigned long)&n & -4096), 4096, PROT_READ)
madvise((void *)((unsigned long)&n & -4096), 4096, MADV_DONTNEED)
mremap((void *)((unsigned long)&n & -4096), 4096, 8192, MREMAP_MAYMOVE)
mmap((void *)((unsigned long)&n & -4096), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
setvbuf(own_stream(), (char *)&n, _IOFBF, 4)
setbuffer(own_stream(), (char *)&n, 4)
fmemopen(&n, 4, "w")
open_memstream((char **)&line, &size)
getline((char **)&filled, &size, own_stream())
initstate(1, (char *)filled, 8)
setstate((char *)&n)
readdir((DIR *)filled)
closedir((DIR *)filled)
aio_read(&asynchronous)
lio_listio(LIO_WAIT, 0, 0, 0)
makecontext(on_stack((char *)&n), at_end, 0)
brk(0)
sbrk(4096)
syscall(SYS_exit_group, 4)
syscall(SYS_fork)
syscall(SYS_rt_sigprocmask, 0, &signals, 0, 8)
err(1, "a message")
errx(1, "a message")
error(1, 0, "a message")
"""

PROGRAM = harness.program_text(__file__, "refused_calls/program.c")

# In places where a region can stand; WHAT goes wrong in the second turn.
PLACES = harness.program_text(__file__, "refused_calls/places.cc")
ENDS = harness.program_text(__file__, "refused_calls/ends.c")
WHERE = ("early", "library", "main", "handler", "thread", "late")


@harness.needs_compiler
class RefusedCalls(harness.TestCase):
    def test_by_name(self):
        """One region each, one after the other, also behind those that do not come back."""
        calls = CALLS.strip().splitlines()
        regions = "".join(f"    n += 0;\n    rdb_begin\n      printf(\"{k}\\n\");\n      (void){call};\n      printf(\"not "
                          f"reached\\n\");\n    rdb_end\n"
                          for k, call in enumerate(calls))
        self.write("calls.c", PROGRAM.replace("REGIONS", regions))
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-w", "-o", "calls", "calls.c"], status=0)
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./calls", status=1)
        replayed = self.rdb("replay", self.path("trace"), status=1)
        self.assertEqual(replayed.out, "".join(f"{k}\n" for k in range(len(calls))) + "allowed 0 0 1 1 0\n" + recorded.out,
                         f"\n{replayed}")
        told = re.findall(r"(?m)^rdb: calls\.c:\d+: debug code must not call (\w+).*; this region is not run any more$",
                          replayed.err)
        self.assertEqual(told, [call.split("(")[0] for call in calls], f"\n{replayed}")

    def test_functions_of_the_program_with_such_names(self):
        """Those are the program's."""
        self.write("own.c", harness.program_text(__file__, "refused_calls/own.c"))
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-fno-builtin", "-o", "own", "own.c"], status=0)
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./own", status=0)
        replayed = self.rdb("replay", self.path("trace"), status=0)
        self.assertEqual(replayed.out, "22 32\n" + recorded.out, f"\n{replayed}")

    def test_behind_a_region_that_does_not_end(self):
        """Later regions are there, also those that use its variables; it is the same in every kind of language."""
        ends = {".c": ("exit(1)", "abort()", "for (;;) {}", "__builtin_trap()", "if (shared) exit(1); else abort()"),
                ".cc": ("exit(1)", "throw 5", "std::terminate()", "std::string kept = \"kept\"; throw std::string(kept)")}
        for suffix, words in ends.items():
            for what in words:
                with self.subTest(what, suffix=suffix):
                    self.write("ends" + suffix, "#include <rdb/rdb.h>\n#include <stdio.h>\n#include <stdlib.h>\n" +
                               ("#include <exception>\n#include <string>\n" if suffix == ".cc" else "") + ENDS.replace("WHAT",
                                                                                                                       what))
                    self.run_program([harness.program("rdb-clang++" if suffix == ".cc" else "rdb-clang"), "-g", "-O0", "-w",
                                      "-o", "ends", "ends" + suffix], status=0)
                    self.run_program(["/bin/rm", "-rf", self.path("trace")])
                    self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./ends", status=6)
                    replayed = self.rdb("replay", "--region-timeout", "0.3", self.path("trace"), status=6)
                    self.assertEqual(replayed.out, "first 10\n" + "".join(f"second {n} 0\nthird {n} 5\n" for n in (1, 3, 5)),
                                     f"\n{replayed}")

    def in_places(self, compiler, suffix, what, words, *options):
        with self.subTest(what, compiler=compiler):
            self.write("places" + suffix, PLACES)
            build = [harness.program(compiler), "-g", "-O0", "-w", f"-DWHAT={what}"]
            self.run_program([*build, "-DLIBRARY", "-shared", "-fPIC", "-o", "libplaces.so", "places" + suffix], status=0)
            self.run_program([*build, "-o", "places", "places" + suffix, "libplaces.so", "-Wl,-rpath,$ORIGIN", "-pthread"],
                             status=0)
            self.run_program(["/bin/rm", "-rf", self.path("trace")])
            recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./places", status=0)
            replayed = self.rdb("replay", "--region-timeout", "0.3", *options, self.path("trace"), status=0)
            shown = [re.sub(r"^\[\d+ [\d/]+ places\.\w+:\d+\] ", "", line) for line in replayed.out.splitlines()]
            for where in WHERE:
                self.assertEqual([line for line in shown if line.startswith(where)],
                                 [f"{where} {i}" for i in range(2)], f"\n{where}\n{replayed}")
            self.assertEqual([line for line in shown if line.startswith("callback")], ["callback 0", "callback 1"],
                             f"\n{replayed}")
            self.assertIn(recorded.out.splitlines()[-1], shown)
            told = [line for line in replayed.err.splitlines() if line.endswith("not run any more")]
            self.assertEqual(len(told), len(WHERE), f"\n{replayed}")
            for line in told:
                self.assertIn(words, line)
            # The child is another process of the recording.
            pid = self.rdb("ps", self.path("trace"), status=0).out.splitlines()[2].split()[0]
            child = self.rdb("replay", "--region-timeout", "0.3", "-p", pid, *options, self.path("trace"))
            self.assertEqual([line[line.index("child"):] for line in child.out.splitlines() if "child" in line
                              and "turn" not in line], ["child 0", "child 1"], f"\n{child}")
            self.assertIn(words, child.err)

    def test_wherever_the_region_stands(self):
        for what, words in (("exit(3)", "must not call exit"), ("*(volatile int *)8 = 1", "crashed with signal 11"),
                            ("for (;;) {}", "did not end within")):
            self.in_places("rdb-clang", ".c", what, words)
        self.in_places("rdb-clang++", ".cc", "throw 5", "an exception left ")
        self.in_places("rdb-clang++", ".cc", "__builtin_abort()", "must not call abort", "--prefix")


if __name__ == "__main__":
    harness.main()
