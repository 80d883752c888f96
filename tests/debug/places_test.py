# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions run wherever code runs: before main and after exit, in signal handlers, in recursion, in threads, in static and
shared libraries, each with the bundle of its own file. Every recording has hashes of memory and registers, which the
replay checks."""
import re

import harness

TIMES = harness.program_text(__file__, "places/times.c")

PARTS = {
    "main.c": harness.program_text(__file__, "places/parts/main.c"),
    "area.c": harness.program_text(__file__, "places/parts/area.c"),
    "volume.c": harness.program_text(__file__, "places/parts/volume.c"),
}
PARTS_DEBUG = [line for i in (1, 2, 3) for line in (
    f"volume {i * (i + 1) * 2}, call {i}, twice {i * (i + 1) * 4}", f"area {i} x 2, call {i}",
    f"main i {i} one {i * (i + 1) * 2 + i * 2} calls {i} area {i}")]

THREADS = {
    "main.c": harness.program_text(__file__, "places/threads/main.c"),
    "work.c": harness.program_text(__file__, "places/threads/work.c"),
}


# Instructions that the compiler selects in more than one way, and what each adds to a counter.
STATEMENTS = (("n++;", 1), ("n += (int)take(big);", 3), ('__asm__ volatile("nop");', 0),
              ('__asm__ volatile("incl %0" : "+m"(n) : : "memory");', 1),
              ("__atomic_fetch_add(&n, 2, 5);", 2), ("n += __builtin_popcount(7u);", 3), ("big = (struct big){{3, n}};", 0),
              ("if (n > 1000) take(big); else n++;", 1), ("n += (int)precise(2.5L, big);", 5),
              ("switch (n & 1) { case 0: n += 2; break; default: n += 2; }", 2),
              ("n += (n & 1) ? first(big) : first(big);", 3), ("memset(text, n, sizeof text);", 0),
              ("n += (int)__builtin_expect(n > 0, 1);", 1),
              ("{ char room[n]; room[0] = 1; n += room[0]; }", 1), ("n += argc > 5 ? 7 : 2;", 2))


# A library that is unloaded, and comes back somewhere else: where it was, another has its code then.
PLUGIN = harness.program_text(__file__, "places/plugin.c")
PLUGIN_USER = harness.program_text(__file__, "places/plugin_user.c")

# A region behind a call, where another way comes along: it is not reached if the call is left by a jump, or by an exception.
LEFT = {"left.c": harness.program_text(__file__, "places/left/left.c"),
        "left.cc": harness.program_text(__file__, "places/left/left.cc")}


# Optimised, the first instruction after each region is the one that faults. Where a handler repairs the fault, the
# instruction is executed once more, but the program does not come past the region again.
FAULTS = harness.program_text(__file__, "places/faults.c")


def statements_program():
    """A region in front of each of the statements, and after the last; and what the regions print."""
    text = ("#include <rdb/rdb.h>\n#include <stdio.h>\n#include <string.h>\nstruct big { long part[9]; };\n"
            "static long take(struct big b) { return b.part[0]; }\nstatic int first(struct big b) { return (int)b.part[0]; }\n"
            "static long double precise(long double x, struct big b) { return x + b.part[0] - 0.5L; }\n"
            "int main(int argc, char **argv) {\n  struct big big = {{3}};\n  char text[40];\n  int n = argc;\n")
    n, printed = 1, []
    for number, (statement, more) in enumerate((*STATEMENTS, ("", 0))):
        text += f'rdb_begin\n  printf("{number} %d %d\\n", n, argc);\nrdb_end\n  {statement}\n'
        printed.append(f"{number} {n} 1")
        n += more
    return text + "  return argc - 1 + 0 * text[0];\n}\n", printed


class Places(harness.TestCase):
    def test_a_region_right_before_the_instruction_that_faults(self):
        for level in ("-O0", "-O1", "-O2"):
            with self.subTest(level):
                self.write("prog.c", FAULTS)
                self.run_program([harness.program("rdb-clang"), level, "-g", "prog.c", "-o", "prog"], status=0)
                recorded, replayed = self.record_and_replay()
                self.assertEqual(recorded.out, "0 4\n")
                lines = replayed.out.splitlines()
                self.assertEqual(lines[-2:], ["0 4", "load null"], f"\n{replayed}")
                self.assertEqual(lines.count("load mapped"), 1, f"\n{replayed}")
                self.assertEqual(lines.count("divide by 0"), 1, f"\n{replayed}")
                self.assertIn("load at prog.c:", replayed.err, f"\n{replayed}")

    def record_and_replay(self, *options, env=None):
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", env=env)
        bare = self.rdb("replay", "--no-module", self.path("trace"))
        self.assertEqual((bare.out, bare.status), (recorded.out, recorded.status))
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded, replayed

    def check(self, level, replayed, expected):
        """Optimised code has lost some of its places and values; what is shown is right nevertheless."""
        found = replayed.out.splitlines()
        if level == "-O0":
            self.assertEqual(found, expected, replayed.err)
        self.assertEqual(found, [line for line in expected if line in found])

    def test_before_main_after_exit_in_handlers_and_deep_down(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.write("times.c", TIMES)
                self.run_program([harness.program("rdb-clang"), "-g", level, "-o", "prog", "times.c"], status=0)
                recorded, replayed = self.record_and_replay()
                self.assertEqual(recorded.out, "14 11\n")
                expected = ["constructor 2", "signal 10 13", "depth 6", "14 11", "exit handler 15"]
                self.check(level, replayed, expected)

    def test_in_front_of_every_kind_of_statement(self):
        program, printed = statements_program()
        self.write("statements.c", program)
        for flags in ([], ["-g"]):
            with self.subTest(flags=flags):
                self.run_program([harness.program("rdb-clang"), *flags, "-O0", "-o", "prog", "statements.c"], status=0)
                _, replayed = self.record_and_replay()
                self.assertEqual(replayed.out.splitlines(), printed)

    def test_behind_calls_that_are_left_in_another_way(self):
        for name, text in LEFT.items():
            self.write(name, text)
        for compiler, name, flags in (("rdb-clang", "left.c", []), ("rdb-clang", "left.c", ["-static"]),
                                      ("rdb-clang", "left.c", ["-D_FORTIFY_SOURCE=2", "-O2"]),
                                      ("rdb-clang++", "left.cc", []), ("rdb-clang++", "left.cc", ["-O2"])):
            with self.subTest(name=name, flags=flags):
                self.run_program([harness.program(compiler), *flags, "-w", "-o", "prog", name], status=0)
                _, replayed = self.record_and_replay()
                self.check("-O2" if "-O2" in flags else "-O0", replayed, ["far 0", "near 0", "far 2", "near 2"])

    def test_calls_that_are_left_do_not_return(self):
        self.write("left.c", LEFT["left.c"])
        for flags in ([], ["-static"]):
            with self.subTest(flags=flags):
                self.run_program([harness.program("rdb-clang"), "-g", *flags, "-w", "-o", "prog", "left.c"], status=0)
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.rdb("record", "-q", "-o", self.path("trace"), "--", "./prog", status=0)
                traced = self.rdb("replay", "-q", "--no-module", "--trace-calls", "check", self.path("trace"), status=0)
                lines = re.findall(r"^\[\d+ \d+\] (.*)  \(", traced.out + traced.err, re.M)
                self.assertEqual(lines, ["check(n=0)", "check = 0"] * 2 + ["check(n=1)"] * 2 + ["check(n=2)", "check = 4"] * 2)

    def test_static_and_shared_libraries_with_their_bundles(self):
        compiler = harness.program("rdb-clang")
        for name, text in PARTS.items():
            self.write(name, text)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                flags = ["-g", level, "-fno-inline"]
                self.run_program(["/bin/rm", "-rf", "libarea.a", "libvolume.so", "libvolume.so.rdb", "prog.rdb"], status=0)
                self.run_program([compiler, *flags, "-c", "area.c"], status=0)
                self.run_program(["/usr/bin/ar", "rc", "libarea.a", "area.o"], status=0)
                self.run_program([compiler, *flags, "-fPIC", "-shared", "-o", "libvolume.so", "volume.c"], status=0)
                self.run_program([compiler, *flags, "-o", "prog", "main.c", "-L.", "-larea", "-lvolume", "-Wl,-rpath,$ORIGIN"],
                                 status=0)
                recorded, replayed = self.record_and_replay("-m", "prog.rdb", "-m", "libvolume.so.rdb")
                self.check(level, replayed, PARTS_DEBUG + recorded.out.splitlines())
                # Found by themselves, all of them.
                found = self.rdb("replay", self.path("trace"), status=recorded.status)
                self.assertEqual(found.out, replayed.out)
                self.assertRegex(found.err,
                                 r"rdb: running the debug regions of \./prog\.rdb\nrdb: running the debug regions of "
                                 r"/\S*/libvolume\.so\.rdb\n")
                self.assertNotIn("libvolume.so.rdb",
                                 self.rdb("replay", "-m", "prog.rdb", self.path("trace"), status=recorded.status).err)

    def test_a_library_that_comes_back(self):
        self.write("plugin.c", PLUGIN)
        self.write("user.c", PLUGIN_USER)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program([harness.program("rdb-clang"), "-g", level, "-fPIC", "-shared", "-o", "libplugin.so",
                                  "plugin.c"], status=0)
                self.run_program(["clang-22", "-g", level, "-o", "prog", "user.c", "-ldl"], status=0)
                recorded, replayed = self.record_and_replay()
                self.assertEqual(recorded.status, 0, f"\n{recorded}")
                expected = []
                for i in range(4):
                    expected += [f"work {n}: {k} calls, {2 * n}, hit {2 * i + k}" for k, n in ((1, i), (2, 10 + i))]
                self.check(level, replayed, expected + recorded.out.splitlines())

    def test_threads_with_two_bundles(self):
        """Each region belongs to the thread that runs it: its values, its thread-local variables, the prefix; the state of
        debug code is one for all."""
        compiler = harness.program("rdb-clang")
        for name, text in THREADS.items():
            self.write(name, text)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program(["/bin/rm", "-rf", "libwork.so.rdb", "prog.rdb"], status=0)
                self.run_program([compiler, "-g", level, "-fPIC", "-shared", "-o", "libwork.so", "work.c"], status=0)
                self.run_program([compiler, "-g", level, "-pthread", "-o", "prog", "main.c", "-L.", "-lwork",
                                  "-Wl,-rpath,$ORIGIN"], status=0)
                recorded, replayed = self.record_and_replay("-m", "prog.rdb", "-m", "libwork.so.rdb", "--prefix")
                self.assertEqual(recorded.out, "60 60\n")
                if level == "-O0":
                    self.threads_are_whole(replayed)
                found = re.findall(r"(?m)^\[(\d+) (\d+) (?:main|work)\.c:\d+\] (?:main|work) (\d+) ", replayed.out)
                self.assertEqual([line for line in found if line[1] != line[2]], [], replayed)
                times = [int(line[0]) for line in found]
                self.assertEqual(times, sorted(times))

    def threads_are_whole(self, replayed):
        main = re.findall(r"(?m)^\[\d+ (\d+) main\.c:\d+\] main \d+ round (\d+) total (\d+) own (\d+) bumped (\d+)$",
                          replayed.out)
        work = re.findall(r"(?m)^\[\d+ (\d+) work\.c:\d+\] work \d+ round (\d+) own (\d+) seen (\d+)$", replayed.out)
        self.assertEqual([int(line[2]) for line in main], list(range(1, 61)), replayed)
        self.assertEqual([int(line[3]) for line in work], list(range(1, 61)), replayed)
        starts = {}
        for thread, round_, _, own, bumped in main:
            start = starts.setdefault(thread, int(own))
            self.assertEqual((int(own), int(bumped)), (start + int(round_), start + int(round_) + 1000), replayed)
        self.assertEqual(sorted(starts.values()), [100, 200, 300])
        for thread in starts:
            rounds = [(int(line[1]), int(line[2])) for line in work if line[0] == thread]
            self.assertEqual(rounds, [(i, i + 1) for i in range(20)], replayed)
        self.assertRegex(replayed.out, r"(?m)^\[\d+ \d+ main\.c:\d+\] hits 60 total 60$")
        self.assertTrue(replayed.out.endswith("60 60\n"), replayed)


if __name__ == "__main__":
    harness.main()
