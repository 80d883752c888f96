# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guest for each class of system calls: recorded with the page check on, which stops at a call that changes memory
which the table of system calls does not announce, and replayed."""

import harness

CLASSES = ["events", "faults", "files", "ipc", "signals", "sockets", "terminal", "threads"]


class SystemCalls(harness.TestCase):
    def check_facts(self, name, *options):
        """Guests print the same facts every time, in a recording as well; with `all` also what changes."""
        native = self.run_program([harness.target(name)], status=0)
        recorded = self.check([harness.target(name), "all"], *options)
        self.assertEqual(recorded.status, 0, f"\n{recorded}")
        self.assert_in_order(native.out.splitlines(), recorded.out.splitlines())

    def assert_in_order(self, facts, lines):
        rest = iter(lines)
        for fact in facts:
            self.assertIn(fact, rest)

    def check(self, argv, *options):
        recorded = self.rdb("record", "--checksum", *options, "-o", self.path("trace"), "--", *argv)
        self.assertNotEqual(recorded.status, 125, f"\n{recorded}")
        replayed = self.rdb("replay", "--no-module", self.path("trace"))
        self.assertEqual(replayed.out, recorded.out, f"\n{replayed}")
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded

    def test_process(self):
        native = self.run_program([harness.target("syscalls/process")], status=0)
        recorded = self.rdb("record", "--checksum", "-o", "trace", harness.target("syscalls/process"), "all", status=0)
        self.assert_in_order(native.out.splitlines(), recorded.out.splitlines())
        # What its children wrote is theirs.
        parts = [result.out.splitlines() for _, result in self.replay_processes("trace")]
        self.assert_in_order(parts[0], recorded.out.splitlines())
        self.assertEqual(sorted(sum(parts, [])), sorted(recorded.out.splitlines()))

    def test_a_file_changed_while_it_is_mapped(self):
        recorded = self.check([harness.target("record/mapped_files")])
        self.assertEqual(len(recorded.out.splitlines()), 11)

    def test_output_that_is_never_in_memory(self):
        recorded = self.check([harness.target("record/passed_output")])
        self.assertEqual(recorded.out.count("\n"), 4)

    def test_a_private_mapping_beside_a_shared_one_is_refused_by_name(self):
        for first, second in (("SHARED", "PRIVATE"), ("PRIVATE", "SHARED")):
            script = ("import mmap\n"
                      "file = open('file', 'w+b')\n"
                      "file.truncate(4096)\n"
                      f"one = mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_{first})\n"
                      f"other = mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_{second})\n")
            recorded = self.rdb("record", "-o", self.path(first), "/usr/bin/python3", "-c", script, status=125)
            self.assertRegex(recorded.err,
                             "rdb: not supported: a private mapping of /.*/file beside a shared one that is writable\n")

    def test_pages_that_are_dropped(self):
        script = ("import mmap\n"
                  "shared = mmap.mmap(-1, 8192)\n"
                  "shared[0] = 5\n"
                  "shared.madvise(mmap.MADV_DONTNEED)\n"
                  "print(shared[0])\n"
                  "shared.madvise(mmap.MADV_REMOVE)\n"
                  "print(shared[0])\n"
                  "with open('file', 'w+b') as file:\n"
                  "    file.truncate(8192)\n"
                  "    mapped = mmap.mmap(file.fileno(), 8192)\n"
                  "mapped[4096] = 6\n"
                  "mapped.madvise(mmap.MADV_DONTNEED)\n"
                  "print(mapped[4096])\n"
                  "private = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                  "private[0] = private[4096] = 7\n"
                  "private.madvise(mmap.MADV_FREE, 0, 4096)\n"
                  "private.madvise(mmap.MADV_DONTFORK)\n"
                  "print(private[0], private[4096])\n")
        self.assertEqual(self.check(["/usr/bin/python3", "-c", script]).out, "5\n0\n6\n0 7\n")

    def test_memory_that_a_forked_child_finds_cleared(self):
        script = ("import mmap, os\n"
                  "memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                  "memory[0] = 5\n"
                  "memory.madvise(18)\n"  # MADV_WIPEONFORK
                  "if os.fork() == 0:\n"
                  "    os.write(1, b'child %d\\n' % memory[0])\n"
                  "    os._exit(0)\n"
                  "os.wait()\n"
                  "print('parent', memory[0])\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "--checksum", "-o", trace, "/usr/bin/python3", "-c", script, status=0)
        self.assertEqual(recorded.out, "child 0\nparent 5\n")
        child = self.rdb("ps", trace, status=0).out.splitlines()[2].split()[0]
        self.assertEqual(self.rdb("replay", "-p", child, trace, status=0).out, "child 0\n")

    def test_what_goes_to_the_null_device_is_not_shown(self):
        self.check(["/bin/sh", "-c", "echo seen; echo unseen > /dev/null"])

    def test_what_comes_from_the_machine(self):
        recorded = self.check([harness.target("record/inputs")])
        for word in ("rdtsc ", "rdtscp ", "cpuid f", "clock 7", "alarm at", "alarm(1) at", "suspended", "inotify 400"):
            self.assertIn(word, recorded.out)

    def test_one_file_at_two_places(self):
        self.check([harness.target("record/inputs"), "twice"])

    def test_threads_that_write_to_many_pipes_see_their_own_descriptors_only(self):
        script = ("import errno, os, threading\n"
                  "end = threading.Event()\n"
                  "thread = threading.Thread(target=end.wait)\n"
                  "thread.start()\n"
                  "pipes = [os.pipe() for _ in range(100)]\n"
                  "for _, writer in pipes: os.write(writer, b'x')\n"
                  "last = pipes[-1][1]\n"
                  "for fd in range(last + 1, 5000):\n"
                  "    try: os.lseek(fd, 0, os.SEEK_CUR)\n"
                  "    except OSError as error:\n"
                  "        if error.errno == errno.EBADF: continue\n"
                  "    print(fd, 'is open')\n"
                  "end.set()\n"
                  "thread.join()\n"
                  "print('end')\n")
        self.assertEqual(self.check(["/usr/bin/python3", "-c", script]).out, "end\n")

    def test_signals_that_were_blocked_or_ignored_before_the_program_began(self):
        script = ("import signal as s; print(s.getsignal(s.SIGINT), s.getsignal(s.SIGTTOU), s.getsignal(s.SIGUSR1), "
                  "s.pthread_sigmask(s.SIG_BLOCK, []))")
        before = ["/usr/bin/env", "--ignore-signal=INT,TTOU", "--block-signal=USR1,RTMIN"]
        native = self.run_program([*before, "/usr/bin/python3", "-c", script], status=0)
        recorded = self.run_program([*before, harness.rdb(), "record", "--checksum", "-o", self.path("trace"),
                                     "/usr/bin/python3", "-c", script], status=0)
        self.assertEqual(recorded.out, native.out)
        replayed = self.rdb("replay", self.path("trace"), status=0)
        self.assertEqual(replayed.out, native.out)


def add_tests():
    for name in CLASSES:
        setattr(SystemCalls, f"test_{name}", lambda self, name=name: self.check_facts(f"syscalls/{name}", "--check-pages"))
        setattr(SystemCalls, f"test_{name}_quickly", lambda self, name=name: self.check_facts(f"syscalls/{name}"))


add_tests()

if __name__ == "__main__":
    harness.main()
