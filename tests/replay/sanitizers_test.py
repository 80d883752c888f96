# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs built with sanitizers, by gcc and clang, each with a bug that is reported: recorded, they report what they do
natively; replayed, what they did when they were recorded, byte for byte; and gdb goes back from the report to the cause.
By default clang's programs name places by offsets in the file: its symbolizer is a program of 200 MB (--full)."""
import re
import unittest

import harness

FULL = harness.take_flag("--full")
GCC, CLANG = "/usr/bin/gcc", "/usr/bin/clang-22"
# Program, sanitizer, status, and what the report must say.
REPORTS = [
    ("heap_overflow", "address", 1, "AddressSanitizer: heap-buffer-overflow"),
    ("use_after_free", "address", 1, "AddressSanitizer: heap-use-after-free"),
    ("leak", "address", 1, "LeakSanitizer: detected memory leaks"),
    ("leak", "leak", 23, "LeakSanitizer: detected memory leaks"),
    ("race", "thread", 66, "ThreadSanitizer: data race"),
    ("undefined", "undefined", 0, "runtime error: shift exponent 40"),
    ("both", "address,undefined", 1, "(?s)runtime error: .*AddressSanitizer: stack-buffer-overflow"),
    ("stack_return", "address", 1, "AddressSanitizer: stack-use-after-return"),
]
OPTIONS = {"ASAN_OPTIONS": "detect_stack_use_after_return=1"}
OFFSETS = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:symbolize=0", "LSAN_OPTIONS": "symbolize=0",
           "TSAN_OPTIONS": "symbolize=0", "MSAN_OPTIONS": "symbolize=0", "UBSAN_OPTIONS": "symbolize=0"}
full_only = unittest.skipUnless(FULL, "only with --full")


def essence(report, program):
    """What a report says apart from addresses, numbers of processes, and, for a race, which thread came first."""
    kinds = re.findall(r"(?m)(?:ERROR|WARNING): (\w+Sanitizer: [a-z -]+)|^SUMMARY: (.*)|runtime error: (.*)|^(Direct leak of.*)", report)
    # A frame of the program: its function and line, or its offset in the file.
    frames = re.findall(rf"(?m)^ +#\d+ (?:0x[0-9a-f]+ )?(?:in )?(.*[/(]{program}[-.].*)", report)
    frames = [re.sub(r"0x[0-9a-f]{9,}", "", frame) for frame in frames]
    if "data race" in report:
        return {"ThreadSanitizer: data race"}, set(frame for frame in frames if "count" in frame or "main" in frame or "+0x" in frame)
    return kinds, frames


class Recorded(harness.TestCase):
    """What the tests below share."""
    default_timeout = 300

    def build(self, program, sanitizer, compiler, *more, name=None):
        name = name or f"{program}-{sanitizer.replace(',', '-')}-{compiler.split('/')[-1]}"
        source = harness.SOURCE + f"/tests/replay/programs/sanitizers/{program}.c"
        self.run_program([compiler, "-g", "-fno-omit-frame-pointer", "-pthread", f"-fsanitize={sanitizer}", *more, "-o",
                          self.path(name), source], status=0)
        return self.path(name)

    def environment_of(self, compiler):
        return OFFSETS if compiler == CLANG and not FULL else OPTIONS

    def record(self, trace, command, status, *options, env=None):
        recorded = self.rdb("record", "-q", *options, "-o", self.path(trace), *command, env=env)
        self.assertEqual(recorded.status, status, f"\n{recorded}")
        self.assertNotIn("rdb:", recorded.err)
        return recorded

    def check_replays(self, trace, recorded, times=3):
        for _ in range(times):
            replayed = self.rdb("replay", self.path(trace))
            self.assertEqual((replayed.status, replayed.out, replayed.err), (recorded.status, recorded.out, recorded.err))

    def check(self, program, sanitizer, status, says, compiler, *options):
        command = [self.build(program, sanitizer, compiler)]
        # With names of functions a report takes thousands of calls.
        env = OFFSETS if options else self.environment_of(compiler)
        native = self.run_program(command, env=env)
        self.assertEqual(native.status, status, f"\n{native}")
        self.assertRegex(native.err, says)
        recorded = self.record("trace" + command[0].split("/")[-1], command, status, *options, env=env)
        self.assertEqual(recorded.out, native.out)
        self.assertEqual(essence(recorded.err, program), essence(native.err, program), f"\n{native}\n{recorded}")
        self.assertTrue(sanitizer == "undefined" or essence(native.err, program)[1], native.err)
        self.check_replays("trace" + command[0].split("/")[-1], recorded)


class Sanitizers(Recorded):
    def test_reports_of_gcc(self):
        for program, sanitizer, status, says in REPORTS:
            with self.subTest(program=program, sanitizer=sanitizer):
                self.check(program, sanitizer, status, says, GCC)

    def test_reports_of_clang(self):
        for program, sanitizer, status, says in [*REPORTS, ("uninitialised", "memory", 1, "MemorySanitizer: use-of-uninitialized-value")]:
            with self.subTest(program=program, sanitizer=sanitizer):
                self.check(program, sanitizer, status, says, CLANG)

    def test_checksums(self):
        """At each call all that may be written to is compared, of a shadow of many terabytes."""
        self.check("leak", "address", 1, "LeakSanitizer", CLANG, "--checksum=calls")
        self.check("race", "thread", 66, "data race", CLANG, "--checksum=calls")
        self.check("uninitialised", "memory", 1, "MemorySanitizer", CLANG, "--checksum=calls")

    @full_only
    def test_checksums_of_all(self):
        for program, sanitizer, status, says in REPORTS:
            for compiler in (GCC, CLANG):
                with self.subTest(program=program, sanitizer=sanitizer, compiler=compiler):
                    self.check(program, sanitizer, status, says, compiler, "--checksum=calls")

    def check_threads(self, sanitizer, status, compiler, *options):
        command = [self.build("leak_threads", sanitizer, compiler, "-O1", "-fno-inline")]
        recorded = self.record("trace" + "".join(options) + command[0].split("/")[-1], command, status, *options,
                               env=self.environment_of(compiler))
        self.assertEqual(re.findall(r"(?:Direct|Indirect) leak of.*", recorded.err),
                         ["Direct leak of 777 byte(s) in 1 object(s) allocated from:"], f"\n{recorded}")
        self.check_replays("trace" + "".join(options) + command[0].split("/")[-1], recorded, 1)

    def test_leaks_while_threads_wait_and_run(self):
        """What the stack or a register of another thread holds is no leak."""
        self.check_threads("leak", 23, GCC)
        self.check_threads("address", 1, CLANG)

    @full_only
    def test_leaks_while_threads_wait_and_run_in_all_ways(self):
        for seed in range(10):
            for sanitizer, status in (("leak", 23), ("address", 1)):
                for compiler in (GCC, CLANG):
                    self.check_threads(sanitizer, status, compiler, "--chaos", f"--seed={seed}")

    def test_children(self):
        command = [self.build("forks", "address", GCC)]
        native = self.run_program(command, status=0)
        self.assertIn("child 1: 1\n", native.out)
        recorded = self.record("trace", command, 0)
        self.assertEqual(recorded.out, native.out)
        self.assertEqual(essence(recorded.err, "forks"), essence(native.err, "forks"))
        replayed = self.replay_processes(self.path("trace"))
        self.assertEqual([result.out for _, result in replayed][0], native.out)
        self.assertEqual("".join(result.err for _, result in replayed), recorded.err)

    def test_from_a_shell(self):
        program = self.build("heap_overflow", "address", CLANG)
        command = ["/bin/sh", "-c", f"/bin/echo first; {program}; echo status $?; {program}; echo status $?"]
        recorded = self.record("trace", command, 0, env=OFFSETS)
        self.assertEqual(recorded.out, "first\n" + 2 * "before\nstatus 1\n")
        self.assertEqual(recorded.err.count("heap-buffer-overflow on address"), 2)
        replayed = self.replay_processes(self.path("trace"))
        said = "".join(re.sub(r"(?m)^rdb: at time .*\n", "", result.err) for _, result in replayed)
        self.assertEqual(said, recorded.err)

    def test_a_library_alone_has_it(self):
        """The runtime comes by LD_PRELOAD."""
        self.build("library", "address", GCC, "-shared", "-fPIC", "-DLIBRARY", name="liblast.so")
        source = harness.SOURCE + "/tests/replay/programs/sanitizers/library.c"
        self.run_program([GCC, "-g", "-o", "program", source, "-L.", "-llast", f"-Wl,-rpath,{self.tmp}", "-Wl,--allow-shlib-undefined"],
                         status=0)
        runtime = self.run_program([GCC, "-print-file-name=libasan.so"], status=0).out.strip()
        command = ["/usr/bin/env", f"LD_PRELOAD={runtime}", self.path("program")]
        native = self.run_program(command, status=1)
        recorded = self.record("trace", command, 1)
        self.assertEqual(essence(recorded.err, "library"), essence(native.err, "library"))
        self.assertRegex(recorded.err, r"heap-buffer-overflow[^$]*in last_of [^\n]*/library.c:9\b")
        name = self.processes(self.path("trace"))[-1][0]
        self.assertEqual(self.rdb("replay", "-p", name, self.path("trace")).err, recorded.err)

    def test_traps_in_place_of_reports(self):
        for compiler, option in ((GCC, "-fsanitize-undefined-trap-on-error"), (CLANG, "-fsanitize-trap=all")):
            with self.subTest(compiler=compiler):
                command = [self.build("undefined", "undefined", compiler, option)]
                self.assertEqual(self.run_program(command).status, -4)
                trace = self.path("trap" + compiler.split("/")[-1])
                for result in (self.rdb("record", "-q", "-o", trace, *command), self.rdb("replay", trace)):
                    self.assertEqual(result.status, -4, f"\n{result}")
                self.assertIn("shifted at undefined.c:", result.err)

    def test_races_in_chaos(self):
        command = [self.build("race", "thread", CLANG)]
        for seed in range(20 if FULL else 3):
            recorded = self.record(f"trace-{seed}", command, 66, "--chaos", f"--seed={seed}", env=self.environment_of(CLANG))
            self.assertIn("data race", recorded.err)
            self.check_replays(f"trace-{seed}", recorded, 1)


class Questions(Recorded):
    """To the recording of a report."""

    def gdb(self, *commands):
        words = [word for command in commands for word in ("-ex", command)]
        return self.rdb("gdb", self.path("trace"), "--", "-batch", *words, status=0).out

    def recorded(self, program, sanitizer, compiler, status):
        self.record("trace", [self.build(program, sanitizer, compiler)], status, env=OFFSETS)

    def test_at_an_overflow(self):
        for compiler in (GCC, CLANG):
            with self.subTest(compiler=compiler):
                self.run_program(["/bin/rm", "-rf", self.path("trace")], status=0)
                self.recorded("heap_overflow", "address", compiler, 1)
                out = self.gdb("break __asan_report_store1", "continue", "backtrace", "up", "info locals", "print count",
                               "watch -l i", "reverse-continue", "print i")
                self.assertRegex(out, r"(?s)#1 +0x[0-9a-f]+ in fill \(text=.*, count=12\) at .*heap_overflow.c:8.*#2 .* main "
                                      r".*i = 12.*\$1 = 12.*Old value = 12\nNew value = 11\n.*\$2 = 11")

    def test_back_to_the_loss_of_a_leaked_pointer(self):
        self.recorded("leak", "address", CLANG, 1)
        out = self.gdb("watch current", "goto end", "reverse-continue", "backtrace", "print current", "reverse-continue", "reverse-continue",
                       "info locals")
        self.assertRegex(out, r"(?s)#0 .*forget \(\) at .*leak.c:15.*#1 .* main .*\$1 = 0x[0-9a-f]{6}.*"
                              r"allocate \(count=3\).*i = \d")

    def test_back_to_the_other_side_of_a_race(self):
        self.recorded("race", "thread", CLANG, 66)
        out = self.gdb("break __tsan_on_report", "continue", "watch counter", "reverse-continue", "backtrace", "info locals")
        self.assertRegex(out, r"(?s)watchpoint 2: counter.*Old value = .*count \(times=.*\) at .*race.c:10.*i = \d+")

    def test_prints_by_debug_information(self):
        for program, sanitizer, status, place, what, hits in (
                ("heap_overflow", "address", 1, "heap_overflow.c:8", "i", 13),
                ("uninitialised", "memory", 1, "uninitialised.c:7", "index", 2)):
            with self.subTest(program=program):
                self.run_program(["/bin/rm", "-rf", self.path("trace")], status=0)
                self.recorded(program, sanitizer, CLANG, status)
                lines = self.rdb("print", self.path("trace"), place, what, status=0).out.splitlines()
                self.assertEqual(len(lines), hits, lines)


if __name__ == "__main__":
    harness.main()
