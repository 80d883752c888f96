# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every way out of debug code, from every place that it can be taken at: it is told with the region and a backtrace of the
debug code, and the replay goes on. Every recording has hashes of memory and registers, which the replay checks."""
import re

import harness

# The way, and what is told of it.
WAYS = {
    "crash": ("*(volatile int *)8 = 1", r"debug code crashed with signal 11 \(Segmentation fault, address 0x8\)"),
    "crash in a library": ("std::memset((void *)8, n, 99999)", r"debug code crashed with signal 11"),
    "crash in a watched call": ("void *root = (void *)8; tsearch(\"a\", &root, order)", r"debug code crashed with signal 11"),
    "abort": ("std::abort()", "debug code must not call abort"),
    "assertion": ("assert(n > 5)", r"debug code must not call abort \(a failed assertion\)"),
    "end by libc": ("void *volatile p = malloc(40); free(p); free(p)", r"debug code was ended by its libc \(abort\)"),
    "exit": ("std::exit(n)", "debug code must not call exit"),
    "end of the thread": ("pthread_exit(0)", "debug code must not call pthread_exit"),
    "endless loop": ("for (volatile int k = 0;; k++) {}", r"debug code did not end within 0\.3 s \(--region-timeout\)"),
    "stack overflow": ("deep(n)", "debug code overflowed its stack"),
    "longjmp": ("std::longjmp(outside, 1)", r"debug code must not call longjmp \(out of the region\)"),
    "exception": ("throw std::runtime_error(\"out of here\")",
                  "an exception left (debug code|a callback of debug code): out of here"),
    "exception of a library": ("std::string().at(n)",
                               "an exception left (debug code|a callback of debug code): basic_string::at"),
    "exception that is no object": ("throw n", "an exception left (debug code|a callback of debug code)"),
    "exception that is passed on": ("try { throw std::logic_error(\"first\"); } catch (...) { caught(); throw; }",
                                    "an exception left .*debug code: first"),
    "exception that is kept": ("std::exception_ptr e; try { caught(); throw 5; } catch (...) { e = std::current_exception(); "
                               "} caught(); std::rethrow_exception(e)",
                               "an exception left (debug code|a callback of debug code)"),
    "exception past a destructor that catches": ("Catcher c; throw std::logic_error(\"first\")",
                                                 "an exception left .*debug code: first"),
    "exception out of noexcept": ("[]() noexcept { throw 5; }()", r"debug code was ended by its libc \(abort\)"),
}

PROGRAM = harness.program_text(__file__, "ways_out.cc")


def line_of(text):
    return PROGRAM[:PROGRAM.index(text)].count("\n") + 1


@harness.needs_compiler
class WaysOut(harness.TestCase):
    def check(self, place):
        all_ways = " ".join(f"case {k}: {{ {code}; }} break;" for k, (code, _) in enumerate(WAYS.values()))
        self.write("ways.cc", PROGRAM.replace("WAY;", f"switch (way) {{ {all_ways} }}"))
        self.run_program([harness.program("rdb-clang++"), "-g", "-O0", "-w", "-o", "ways", "ways.cc"], status=0)
        for number, (way, (_, words)) in enumerate(WAYS.items()):
            with self.subTest(way):
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./ways", str(place), str(number),
                         status=6)
                replayed = self.rdb("replay", "--region-timeout", "0.3", self.path("trace"), status=6)
                expected = []
                for i in range(1, 4):
                    if place == 3 or i <= 2:
                        expected.append(f"region {i}")
                    if place == 3 or i < 2:
                        expected.append(f"end {i}")
                    expected.append(f"program {i}")
                self.assertEqual(replayed.out.splitlines(), expected, replayed.err)
                who = "an event's callback" if place == 3 else rf"ways\.cc:{line_of('      std::printf(') - 1}"
                what = "callback" if place == 3 else "region"
                told = re.search(rf"(?m)^rdb: {who}: {words}.*; this {what} is not run any more\n((?:  #.*\n)+)", replayed.err)
                self.assertTrue(told, f"\n{replayed}")
                # Innermost first, without rdb's own functions. Of a stack overflow the outer frames are too many.
                frames = told.group(told.lastindex)
                self.assertNotIn("rdb::", frames)
                self.assertNotIn("rdb_nested_stub", frames)
                if way == "stack overflow":
                    self.assertRegex(frames, rf"^  #0 +\S+ deep\(int\) at ways\.cc:{line_of('static int deep')}\n")
                    continue
                outer = [] if place == 0 else [rf"leaves\(int\) at ways\.cc:{line_of('  WAY;')}"]
                if place == 3:
                    outer.append(rf"on_step\(rdb_event const\*\) at ways\.cc:{line_of('static void on_step')}")
                else:
                    outer.append(rf"__rdb_fn_\w+ at "
                                 rf"ways\.cc:{line_of(('if (place == 0', 'leaves(i);', 'each(i, leaves)')[place])}")
                self.assertRegex(frames, "".join(rf"  #\d+ +\S+ {frame}\n" for frame in outer) + "$")

    def test_region(self):
        self.check(0)

    def test_debug_only_function(self):
        self.check(1)

    def test_callback_from_the_program(self):
        self.check(2)

    def test_callback_of_an_event(self):
        self.check(3)


if __name__ == "__main__":
    harness.main()
