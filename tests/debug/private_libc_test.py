# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code has a libc and libstdc++ of its own: what it prints, allocates, opens, sets and constructs is its own
business. Every recording has hashes of memory and registers, which the replay checks."""

import harness

C_FEATURES = harness.program_text(__file__, "private_libc/features.c")

# What stands in the x87 unit is the program's, also while it has never used it.
X87 = harness.program_text(__file__, "private_libc/x87.c")

CXX_FEATURES = harness.program_text(__file__, "private_libc/features.cc")

FOREIGN_FILE = harness.program_text(__file__, "private_libc/foreign_file.c")

# The same calls in the program, whose libc does them all, and in a region: PRINTS stands for them.
FORMATS = harness.program_text(__file__, "private_libc/formats.c")

# What functions of the program give to debug code lies in the program's heap; debug code destroys it.
GIVEN = harness.program_text(__file__, "private_libc/given.cc")

# Classes, static locals and thread-local objects of debug code's own, and what the library makes of such.
OWN_CLASSES = harness.program_text(__file__, "private_libc/own_classes.cc")


ENDINGS = harness.program_text(__file__, "private_libc/endings.cc")

# All threads of the program are one thread of rdb's.
THREADS = harness.program_text(__file__, "private_libc/threads.cc")


class PrivateLibc(harness.TestCase):
    def replay(self, name, source, *flags, options=()):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog")
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded, replayed

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_c(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                recorded, replayed = self.replay("c.c", C_FEATURES, level)
                self.assertEqual(recorded.out, "errno 9 2.5 C\nC\n")
                self.assertEqual(replayed.out, harness.program_text(__file__, "private_libc/features.expected"), replayed.err)
                self.assertIn("to its stderr\n", replayed.err)
                self.assertEqual(self.read("journal.txt"), "number 7\nnumber 8\n")

    def test_x87(self):
        recorded, replayed = self.replay("x87.c", X87, "-O0")
        self.assertEqual(recorded.out, "37f 0 ffff\n27f 3.14159 ffff\n")
        self.assertEqual(replayed.out, harness.program_text(__file__, "private_libc/x87.expected"), replayed.err)

    def test_cxx(self):
        for level in ("-O0",):
            with self.subTest(level):
                recorded, replayed = self.replay("cxx.cc", CXX_FEATURES, level)
                self.assertEqual(replayed.out,
                                 "ann 6 10 4 3 1 2\na name that is too long to be kept inside of its string 165 55 56 "
                                               "55 2 2\n" + recorded.out, replayed.err)
                self.assertEqual(self.read("log.txt"), "begin\n3\n55\nend 2\n")

    def test_classes_of_its_own(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                recorded, replayed = self.replay("own.cc", OWN_CLASSES, level)
                self.assertIn(recorded.out, replayed.out)
                if level == "-O0":
                    self.assertEqual(replayed.out, "make first\nmake second\n"
                                     "error 0\nprogram's 0\nplain 0\narea 1 9\n42211\n5 ownx shared program!! 4 2\nmake lazy\n"
                                     "lazy\ntext5aXc7\n"
                                     "error 1\nprogram's 1\nplain 1\narea 4 9\n42211\n5 ownxx shared program!! 14 9\nlazy\n"
                                     "text5aXc7\n"
                                     "thread\n" + recorded.out + "destroy lazy\ndestroy second\ndestroy first\n", replayed.err)
                    self.assertIn("debug code must not call std::thread", replayed.err)

    def test_what_is_to_come_at_the_end(self):
        """And streams with buffers of their own, whose output belongs to the region nevertheless."""
        _, replayed = self.replay("endings.cc", ENDINGS, "-O0")
        self.assertEqual(replayed.out, "".join(f"cout {i}\nprintf {i}\nprogram {i}\n" for i in range(2)) + "second 2\nfirst\n",
                         f"\n{replayed}")
        self.assertTrue(replayed.err.endswith("\nclog 0\nclog 1\n"), f"\n{replayed}")

    def test_variables_of_each_thread(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                _, replayed = self.replay("threads.cc", THREADS, level)
                lines = replayed.out.splitlines()
                for who, begin in ((0, 0), (1, 0), (2, 0), (3, 2)):
                    name = ", of thread " + str(0 if who == 3 else who)
                    self.assertEqual([line for line in lines if line.startswith(f"{who}: ")],
                                     [f"{who}: {41 + i} {1 + i} {1 + i} {name[1:]}" for i in (begin, begin + 1)], f"\n{replayed}")
                self.assertEqual(sorted(lines[-3:]),
                                 [f"end of somebody whose name is long, of thread {who}, {hits} hits" for who,
                                  hits in ((0, 4), (1, 2), (2, 2))])

    def test_objects_that_the_program_gives(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                recorded, replayed = self.replay("given.cc", GIVEN, level)
                lines = [f"{6 + i} 4 3 41 51 {i} {i + 1}" for i in range(50)]
                self.assertEqual(replayed.out.splitlines(), [*lines, "50 87 xxx!6xxx!7", recorded.out.strip()], f"\n{replayed}")
                self.assertIn("debug code must not call realloc with memory of the program", replayed.err)

    def test_formats_are_those_of_libc(self):
        recorded, replayed = self.replay("formats.c", FORMATS, "-O0", "-Wno-format")
        self.assertEqual(replayed.out, recorded.out * 2, replayed.err)

    def test_a_file_of_the_program_is_refused(self):
        recorded, replayed = self.replay("file.c", FOREIGN_FILE, "-O0")
        self.assertEqual(replayed.out, "before\n" + recorded.out)
        self.assertIn("called fprintf with a FILE of the program", replayed.err)


if __name__ == "__main__":
    harness.main()
