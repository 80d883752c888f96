# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program finds out about itself, its signals and its children is the same natively, under rdb run, and
in a recording and its replay."""

import harness

TARGETS = ["affinity", "children", "hidden", "seccomp", "sent_faults", "shared", "shared_ends", "signals"]


class World(harness.TestCase):
    def native(self, name):
        result = self.run_program([harness.target("world/" + name)])
        self.assertGreater(len(result.out.splitlines()), 2, str(result))
        return result

    def test_live(self):
        for name in TARGETS:
            with self.subTest(name):
                native = self.native(name)
                live = self.run_program([harness.rdb(), "run", harness.target("world/" + name)])
                self.assertEqual(live.out, native.out)
                self.assertEqual(live.status, native.status)

    def test_live_in_chaos(self):
        for name in TARGETS:
            native = self.native(name)
            for seed in ("1", "2", "3"):
                with self.subTest(name, seed=seed):
                    live = self.rdb("run", "--chaos", "--seed", seed, harness.target("world/" + name))
                    self.assertEqual(live.out, native.out)
                    self.assertEqual(live.status, native.status)

    def test_other_programs_under_rdb_in_proc(self):
        """What a program finds in /proc about its child."""
        script = ("import os, subprocess, time\n"
                  "child = subprocess.Popen(['/bin/sleep', '1000'], env={'A': 'b', 'C': ''})\n"
                  "folder = f'/proc/{child.pid}/'\n"
                  "while open(folder + 'cmdline').read() != '/bin/sleep\\0' + '1000\\0': time.sleep(0.01)\n"
                  "print(os.readlink(folder + 'exe'), os.path.samefile(folder + 'exe', '/bin/sleep'))\n"
                  "print(repr(open(folder + 'environ').read()), open(folder + 'comm').read())\n"
                  "child.kill(); print(child.wait())\n")
        results = [self.run_program([*words, "/usr/bin/python3", "-c", script], status=0).out
                   for words in ([], [harness.rdb(), "run"], [harness.rdb(), "record", "-q", "-o", self.path("trace")])]
        self.assertEqual(results[1:], results[:1] * 2)
        self.assertEqual(self.rdb("replay", self.path("trace"), status=0).out, results[0])

    def test_no_signal_is_lost_around_execve(self):
        for words in ([], [harness.rdb(), "run"], [harness.rdb(), "record", "-q", "-o", self.path("trace")]):
            result = self.run_program([*words, harness.target("world/exec_signal")])
            self.assertEqual(result.out, "rounds 30\nboth or one yes\nlost 0\n", f"\n{result}")

    def test_a_refused_call_is_named_once(self):
        for command in ("run", "record"):
            result = self.run_program([harness.rdb(), command, harness.target("world/refused")])
            self.assertEqual(result.out,
                             "io_uring_setup ENOSYS 3 times\nuserfaultfd ENOSYS\nARCH_REQ_XCOMP_PERM EINVAL\nunknown EINVAL\n",
                             f"\n{result}")
            refused = {"io_uring_setup": "ENOSYS", "userfaultfd": "ENOSYS", "arch_prctl ARCH_REQ_XCOMP_PERM": "EINVAL"}
            for name, error in refused.items():
                line = f"rdb: not supported: the system call {name} (the program gets {error})\n"
                self.assertEqual(result.err.count(line), 1, f"\n{result}")
            self.assertEqual(result.err.count("rdb: not supported"), len(refused), f"\n{result}")

    def test_recorded_and_replayed(self):
        for name in TARGETS:
            with self.subTest(name):
                native = self.native(name)
                trace = self.path(name)
                recorded = self.run_program([harness.rdb(), "record", "-q", "--checksum", "-o", trace,
                                             harness.target("world/" + name)])
                self.assertEqual(recorded.out, native.out)
                self.assertEqual(recorded.status, native.status)
                # Together the processes write again what they wrote, each with the ending it had.
                lines = []
                for _, replayed in self.replay_processes(trace):
                    lines += replayed.out.splitlines()
                for line in native.out.splitlines():
                    self.assertIn(line, lines)
                    lines.remove(line)
                self.assertLessEqual(lines, ["from popen"])  # to a pipe, which is that process's own output


if __name__ == "__main__":
    harness.main()
