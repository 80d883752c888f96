# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code that needs neither FS nor vector registers runs while those are the program's. They must come out of it as they
went in, whatever it does: print after all, crash, loop for ever, use up its stack. And rdb's own code around it must not
touch them."""
import re
import shutil

import harness

# Vector registers, MXCSR, the x87 unit and flags hold something across the region: at -O0 nothing is between the asm
# statements and the region's place.
PROGRAM = harness.program_text(__file__, "fast_regions/program.c")


# Calls and returns of every shape, counted by callbacks; MORE makes these need more than general registers.
CALLBACKS = harness.program_text(__file__, "fast_regions/callbacks.c")


@harness.needs_compiler
class FastCallbacks(harness.TestCase):
    def counts(self, more, *flags):
        self.write("calls.c", CALLBACKS.replace("MORE", more))
        self.run_program([harness.program("rdb-clang"), "-g", "-w", "-pthread", *flags, "calls.c", "-o", "calls"], status=0)
        shutil.rmtree(self.path("trace"), ignore_errors=True)
        self.run_program([harness.rdb(), "record", "-q", "--checksum=calls", "-o", "trace", "--", "./calls"], status=0)
        result = self.run_program([harness.rdb(), "replay", "--no-report", "trace"], status=0)
        found = sorted(result.out.splitlines(), reverse=True)
        self.assertEqual(len(found), 2, result)
        self.assertIn("sums", found[0])
        return [int(word) for word in found[1].split()]

    def test_the_same_is_told(self):
        for flags in (["-O0"], ["-O1"]):
            quick = self.counts("", *flags)
            self.assertEqual(quick, self.counts("times += rdb_time() != 0", *flags))
            # Of three threads, 300 rounds each: a leaf for each call of deep and of outer.
            deep = sum(i % 9 + 1 for i in range(300))
            self.assertEqual(quick[0], 3 * (2 * deep + 2 * 300 + 300))
            if flags == ["-O0"]:
                self.assertEqual(quick[2], quick[0] - 3 * 100)  # those that jump do not return


@harness.needs_compiler
class FastRegions(harness.TestCase):
    def replay(self, what, rounds, *options, level="-O0"):
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            avx = re.search(r"^flags.*\bavx\b", info.read(), re.M) is not None
        wide = {"MOVE": '"vmovdqu"', "REG": '"ymm"', "SIZE": '"32"', "WIDTH": "32"}
        narrow = {"MOVE": '"movdqu"', "REG": '"xmm"', "SIZE": '"32"', "WIDTH": "16"}
        defines = [f"-D{name}={text}" for name, text in (wide if avx else narrow).items()]
        self.write("quick.c", PROGRAM.replace("WHAT", what).replace("ROUNDS", str(rounds)))
        self.check([harness.program("rdb-clang"), level, "-g", "-w", *(["-mavx"] if avx else []), *defines, "quick.c", "-o",
                    "quick"])
        shutil.rmtree(self.path("trace"), ignore_errors=True)
        self.check([harness.rdb(), "record", "-q", "--checksum=calls", "-o", "trace", "--", "./quick"])
        result = self.run_program([harness.rdb(), "replay", "--no-report", *options, "trace"])
        self.assertEqual(result.status, 0, result)
        self.assertIn(f"sum {rounds * (rounds - 1) // 2}\n", result.out, result)
        return result

    def check(self, command):
        result = self.run_program(command)
        self.assertEqual(result.status, 0, result)

    def test_counting(self):
        # Long enough for some ticks of the clock to come in the middle of it.
        self.assertIn("seen 300000\n", self.replay("seen++", 300000).out)

    def test_formatting(self):
        what = 'char text[80]; seen += snprintf(text, sizeof text, "%d %s %x %lu%c", (int)i, "abc", (int)i, (unsigned long)i, 33)'
        self.assertIn("seen 2000000\n", self.replay(what.replace("(int)i", "7").replace("(unsigned long)i", "1ul"), 200000).out)

    def test_numbers(self):
        numbers = [0, 9, 10, 99, 100, 999, 1000, 9999, 10000, 65535, 99999, 100000, 4294967295, 4294967296, 9999999999,
                   10000000000, 99999999999999, 9223372036854775807, 18446744073709551615]
        what = "char text[80];" + "".join(
            f'snprintf(text, sizeof text, "%lu %ld %lx", {n}ul, -{n % 2**63}l, {n}ul); puts(text);' for n in numbers)
        out = self.replay(what, 1).out
        for n in numbers:
            self.assertIn(f"{n} {-(n % 2**63)} {n:x}\n", out)

    def test_printing(self):
        out = self.replay('printf("%ld\\n", i)', 2000).out
        self.assertEqual(out.splitlines()[:2000], [str(i) for i in range(2000)])

    def test_printing_by_libc(self):
        # errno is the program's, floating point is computed by the x87 unit with a control word of its own.
        out = self.replay('printf("%.2Lf %m\\n", (long double)1 / 3)', 50).out
        self.assertEqual(out.splitlines()[:50], ["0.33 Input/output error"] * 50)
        long_text = "x" * 200
        out = self.replay(f'char text[300]; snprintf(text, sizeof text, "%s%d", "{long_text}", 1); puts(text)', 20).out
        self.assertEqual(out.splitlines()[:20], [long_text + "1"] * 20)

    def test_thread_local(self):
        self.assertIn("seen 7000\n", self.replay("seen += own", 1000).out)

    def test_floating_point(self):
        self.assertIn("seen 1500\n", self.replay("volatile double x = 1.25; seen += (long)(x * 1.2)", 1500).out)

    def test_bounds(self):
        self.assertIn("seen 5\n", self.replay("seen++", 1000, "--max-hits", "5").out)
        self.assertNotIn("seen", self.replay("seen++", 1000, "--from", "10000000000").out)

    def goes_wrong(self, what, *options, times=3000):
        result = self.replay(f"if (++seen == 1000) {{ {what}; }}", times, *options)
        self.assertRegex(result.err, r"rdb: quick\.c:\d+: debug code .*; this region is not run any more", result)
        return result

    def test_crash(self):
        result = self.goes_wrong("*(volatile int *)8 = 1")
        self.assertIn("crashed with signal 11", result.err)
        self.assertRegex(result.err, r"step|quick\.c:\d+", result)

    def test_it_goes_on_in_the_same_process(self):
        # The kernel gives signal handlers, out of which debug code is left, an x87 unit in its initial state.
        for options in ([], ["--prefix"]):
            for what in ("*(volatile int *)8 = 1", 'printf("%s", (char *)8)'):
                result = self.replay(f"if (++seen % 1000 == 0) {{ {what}; }}", 3000, "--retry-regions", *options)
                self.assertEqual(result.out.count("<debug code crashed with signal 11"), 3, result)
                self.assertIn("seen 3000\n", result.out, result)

    def test_division(self):
        self.assertIn("crashed with signal 8", self.goes_wrong("volatile int z = 0; seen = 1 / z").err)

    def test_illegal_instruction(self):
        self.assertIn("crashed with signal 4", self.goes_wrong("__builtin_trap()").err)

    def test_stack_overflow(self):
        self.assertIn("overflowed its stack", self.goes_wrong("seen = deep(1)").err)

    def test_endless_loop(self):
        result = self.goes_wrong("for (volatile int k = 0;; k++) ;", "--region-timeout", "0.3")
        self.assertIn("did not end within 0.3 s", result.err)

    def test_refused_call(self):
        self.assertIn("debug code must not call exit", self.goes_wrong("exit(1)").err)


if __name__ == "__main__":
    harness.main()
