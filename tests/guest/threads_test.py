# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with threads run under the engine as they do without it, whatever the turns."""
import hashlib
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")

# Guests of tests/targets whose output does not depend on the schedule, with their cases.
CASES = [
    ["thr_locks"], ["thr_locks_static"], ["thr_futex"], ["thr_cpp"], ["thr_openmp"],
    *(["thr_lifetime", case] for case in ("many", "detached", "chain", "return", "exit_in_thread", "main_first",
                                          "raw_exit", "crash", "exec", "fork", "cancel")),
    *(["thr_signals", case] for case in ("directed", "restarted", "waited", "masked", "storm", "at_once")),
]

PYTHON = """
import queue, threading
work, done = queue.Queue(), []
def worker():
    while (item := work.get()) is not None:
        done.append(item * item)
        work.task_done()
threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads: t.start()
for i in range(500): work.put(i)
work.join()
for t in threads: work.put(None)
for t in threads: t.join()
print(sum(done), threading.Event().wait(0.01), threading.active_count())
"""


class Threads(harness.TestCase):
    def check(self, argv, *options, stdin=""):
        native = self.run_program(argv, stdin=stdin, text=False)
        run = self.rdb("run", *options, "--", *argv, stdin=stdin, text=False)
        self.assertEqual(run.status, native.status, f"\n{run}")
        self.assertEqual(hashlib.sha256(run.out).hexdigest(), hashlib.sha256(native.out).hexdigest(), f"\n{run}")

    def check_guests(self, *options):
        for name, *arguments in CASES:
            with self.subTest(guest=name, arguments=arguments):
                self.check([harness.target(name), *arguments], *options)

    def test_guests(self):
        self.check_guests()

    @unittest.skipUnless(FULL, "long")
    def test_guests_fifty_times(self):
        for _ in range(50):
            self.check_guests()

    def test_guests_with_short_turns(self):
        self.check_guests("--chunk", "777")

    def test_guests_in_chaos(self):
        self.check_guests("--chaos", "--seed", "11")

    def test_guests_in_one_os_thread(self):
        self.check_guests("--one-thread", "--seed", "7", "--chunk", "20000")

    def test_one_os_thread_repeats_itself(self):
        def run(seed):
            result = self.rdb("run", "--one-thread", "--seed", seed, "--chunk", "3000", "--stats",
                              harness.target("thr_race"), status=0)
            return result.out, re.search(r"guest instructions: (\d+)", result.err).group(1)
        first = run("5")
        self.assertEqual([run("5") for _ in range(3)], [first] * 3)
        self.assertNotEqual(run("6"), first)

    def test_one_os_thread_can_be_forked_anywhere(self):
        """At random places; every copy goes on to the same end."""
        argv = ["--one-thread", "--seed", "5", "--chunk", "3000", "--stats"]
        result = self.rdb("run", *argv, harness.target("thr_race"), status=0)
        count = int(re.search(r"guest instructions: (\d+)", result.err).group(1))
        copied = self.rdb("run", *argv, "--copies-every", str(count // 50), harness.target("thr_race"), status=0)
        lines = copied.out.splitlines(keepends=True)
        self.assertGreater(len(lines), 25)
        self.assertEqual(set(lines), {result.out})
        self.assertEqual(set(re.findall(r"guest instructions: (\d+)", copied.err)), {str(count)})

    def programs(self):
        text = self.write("text", "".join(f"{i * 7919 % 100003} line {i}\n" for i in range(60000)))
        return [["/usr/bin/sort", "--parallel=2", "-S", "1M", text], ["/usr/bin/xz", "-T2", "-0", "--block-size=200KiB", "-c", text],
                ["/usr/bin/pigz", "-p", "2", "-c", "-n", text], ["/usr/bin/zstd", "-T2", "-q", "-c", text],
                ["/usr/bin/python3", "-c", PYTHON]]

    def test_programs(self):
        for argv in self.programs():
            if not os.path.exists(argv[0]):
                continue
            with self.subTest(argv[0]):
                self.check(argv)

    def test_a_racy_program_runs_differently_with_other_seeds(self):
        results = {self.rdb("run", "--chaos", "--seed", str(seed), harness.target("thr_race"), status=0).out
                   for seed in range(4)}
        self.assertGreater(len(results), 1)

    def test_turns_end_after_their_instructions(self):
        # Without switches every update counts.
        run = self.rdb("run", "--chunk", "1000000000", harness.target("thr_race"), status=0)
        self.assertEqual(run.out, "1200000\n")


if __name__ == "__main__":
    harness.main()
