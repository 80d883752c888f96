# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guest for each class of system calls: recorded with the page check on, which stops at a call that changes memory
which the table of system calls does not announce, and replayed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

CLASSES = ["events", "faults", "files", "ipc", "signals", "sockets", "terminal"]


class SystemCalls(harness.TestCase):
    def check(self, argv, *options):
        recorded = self.rdb("record", "--checksum", *options, "-o", self.path("trace"), "--", *argv)
        self.assertNotEqual(recorded.status, 125, f"\n{recorded}")
        replayed = self.rdb("replay", "--no-module", self.path("trace"))
        self.assertEqual(replayed.out, recorded.out, f"\n{replayed}")
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded

    def test_a_file_changed_while_it_is_mapped(self):
        recorded = self.check([harness.target("rec_mapped_files")])
        self.assertEqual(len(recorded.out.splitlines()), 11)

    def test_output_that_is_never_in_memory(self):
        recorded = self.check([harness.target("rec_passed_output")])
        self.assertEqual(recorded.out.count("\n"), 4)

    def test_what_goes_to_the_null_device_is_not_shown(self):
        self.check(["/bin/sh", "-c", "echo seen; echo unseen > /dev/null"])

    def test_what_comes_from_the_machine(self):
        recorded = self.check([harness.target("rec_inputs")])
        for word in ("rdtsc ", "rdtscp ", "cpuid f", "clock 7", "alarm at", "alarm(1) at", "suspended", "inotify 400"):
            self.assertIn(word, recorded.out)

    def test_one_file_at_two_places_is_refused_by_name(self):
        trace = self.path("trace")
        recorded = self.rdb("record", "-o", trace, harness.target("rec_inputs"), "twice", status=125)
        self.assertRegex(recorded.err, "rdb: not supported: two shared mappings of .*twice-.*, one of them writable\n")
        self.assertEqual(self.rdb("replay", trace, status=0).out, "first\n")

    def replay_all(self, trace):
        for row in self.rdb("ps", trace, status=0).out.splitlines()[1:]:
            replayed = self.rdb("replay", "-p", row.split()[0], trace)
            self.assertNotIn("internal error", replayed.err)

    def test_memory_that_processes_share(self):
        script = ("import multiprocessing as m\n"
                  "def add(value, lock):\n"
                  "    for _ in range(100):\n"
                  "        with lock: value.value += 1\n"
                  "value, lock = m.Value('i', 0), m.Lock()\n"
                  "children = [m.Process(target=add, args=(value, lock)) for _ in range(3)]\n"
                  "for child in children: child.start()\n"
                  "for child in children: child.join()\n"
                  "print(value.value, flush=True)\n"
                  "with m.Pool(2) as pool: print(sum(pool.map(abs, range(100))), flush=True)\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "--checksum", "-o", trace, "/usr/bin/python3", "-c", script, status=0)
        self.assertEqual(recorded.out, "300\n4950\n")
        self.assertEqual(self.rdb("replay", trace, status=0).out, recorded.out)
        self.replay_all(trace)

    def test_processes_that_wait_for_each_others_shared_memory(self):
        recorded = self.rdb("record", "-o", self.path("trace"), harness.target("rec_copies"), status=125)
        self.assertRegex(recorded.err, r"rdb: not supported: memory shared by recorded processes: \d+ and \d+, which copy from "
                                       r"page to page with one instruction, wait for each other at 0x\w+\n")
        self.assertEqual(self.rdb("replay", self.path("trace"), status=0).out, "before\n")

    def test_shared_memory_that_moves_ends_the_recording(self):
        script = ("import mmap, os\nshared = mmap.mmap(-1, 4096)\nos.write(1, b'before\\n')\n"
                  "while True:\n"  # a parent that would try for ever
                  "    if os.fork() == 0: shared.resize(1 << 20)\n"
                  "    os.wait()\n")
        recorded = self.rdb("record", "-o", self.path("trace"), "/usr/bin/python3", "-c", script, status=125)
        self.assertRegex(recorded.err, r"rdb: not supported: memory shared by recorded processes: mremap at 0x\w+\n")
        self.assertIn("rdb: the recording ended early: memory that its processes share was used in a way that cannot be "
                      "recorded", recorded.err)
        self.assertEqual(self.rdb("replay", self.path("trace"), status=0).out, "before\n")

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
        # Guests print the same facts every time; with `all` also those that change.
        setattr(SystemCalls, f"test_{name}",
                lambda self, name=name: self.check([harness.target(f"sys_{name}"), "all"], "--check-pages"))
        setattr(SystemCalls, f"test_{name}_quickly",
                lambda self, name=name: self.check([harness.target(f"sys_{name}"), "all"]))


add_tests()

if __name__ == "__main__":
    harness.main()
