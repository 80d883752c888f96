# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rdb says at the end: of children that were cut off, of wrappers, of bundles that were asked for in vain."""
import os
import shutil

import harness

# The children make a call that rdb cannot record.
CUT_OFF = harness.program_text(__file__, "last_words/cut_off.c")

REGION = harness.program_text(__file__, "last_words/region.c")


class CutOffChildren(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.run_program(["/usr/bin/gcc", "-o", "cut", self.write("cut.c", CUT_OFF)], status=0)

    def record(self, count):
        return self.rdb("record", "-o", "t", "./cut", str(count), status=0).err.splitlines()[-1]

    def test_none(self):
        self.assertNotIn("cut off", self.record(0))

    def test_one(self):
        last = self.record(1)
        child = self.processes("t")[1][0]
        self.assertIn(f"exit 0 (process {child} was cut off; 'rdb info' says why), ", last)
        self.assertRegex(self.rdb("info", "t", status=0).out, f"{child} .*rdb could not record the process any further")

    def test_many(self):
        last = self.record(5)
        names = [name for name, ending in self.processes("t") if ending == "cut off"]
        self.assertEqual(len(names), 5)
        self.assertIn(f"exit 0 (processes {', '.join(names[:3])} and 2 more were cut off; 'rdb info' says why), ", last)


class Wrappers(harness.TestCase):
    def test_a_wrapper_tells_who_has_printed(self):
        self.rdb("record", "-q", "-o", "t", "/usr/bin/timeout", "100", "/bin/sh", "-c", "echo hello; exit 3", status=3)
        replayed = self.rdb("replay", "t", status=3)
        self.assertEqual(replayed.out, "")
        name = next(name for name, ending in self.processes("t") if ending == "exit 3" and name != self.processes("t")[0][0])
        self.assertEqual(replayed.err, "rdb: it has printed nothing itself; its children have: "
                         f"'rdb replay -p {name}' shows {self.shown(name)}\n")
        self.assertEqual(self.rdb("replay", "-p", name, "t", status=3).out, "hello\n")

    def shown(self, name):
        row = next(line for line in self.rdb("ps", "t").out.splitlines() if line.startswith(name + " "))
        return os.path.basename(row.split()[-1])

    def test_many_children(self):
        self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", "for i in 1 2 3 4 5; do /bin/echo $i; done; exit 0", status=0)
        replayed = self.rdb("replay", "t", status=0)
        self.assertEqual(replayed.err.count("rdb replay -p"), 3)
        self.assertIn("... ('rdb ps' lists them)", replayed.err)

    def test_those_who_print_or_have_no_children_say_nothing(self):
        for script in ("echo hello; (echo child)", "/bin/true; /bin/true", ":", "(echo child >/dev/null)"):
            with self.subTest(script):
                self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", script, status=0)
                self.assertNotIn("children", self.rdb("replay", "t", status=0).err)
                shutil.rmtree(self.path("t"))
        # Who does not want to see output is not told where it is.
        self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", "(echo child); :", status=0)
        self.assertIn("its children have", self.rdb("replay", "t", status=0).err)
        self.assertEqual(self.rdb("replay", "-q", "t", status=0).err, "")

    def test_the_programs_of_a_process_count_as_one(self):
        self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", "(echo child); exec /bin/echo hello", status=0)
        replayed = self.rdb("replay", "t", status=0)
        self.assertEqual((replayed.out, replayed.err), ("hello\n", ""))


@harness.needs_compiler
class NamedBundles(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write("prog.c", REGION)
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-o", "prog", "prog.c"], status=0)

    def test_a_program_under_another_name(self):
        shutil.copy(self.path("prog"), self.path("other"))
        self.rdb("record", "-q", "-o", "t", "./other", status=4)
        self.assertEqual(self.rdb("replay", "t", status=4).out, "end 3\n")
        replayed = self.rdb("replay", "-m", "prog.rdb", "t", status=4)
        self.assertEqual(replayed.out, "n 3\nend 3\n")
        self.assertEqual(replayed.err, "")

    def test_program_and_bundle_renamed(self):
        os.rename(self.path("prog"), self.path("other"))
        os.rename(self.path("prog.rdb"), self.path("other.rdb"))
        self.rdb("record", "-q", "-o", "t", "./other", status=4)
        self.assertEqual(self.rdb("replay", "t", status=4).out, "n 3\nend 3\n")
        os.rename(self.path("other.rdb"), self.path("third.rdb"))
        self.assertEqual(self.rdb("replay", "-m", "third.rdb", "t", status=4).out, "n 3\nend 3\n")

    def test_another_program_of_that_name_does_not_matter(self):
        os.mkdir(self.path("elsewhere"))
        shutil.copy("/bin/sh", self.path("elsewhere/prog"))
        shutil.copy(self.path("prog"), self.path("other"))
        self.rdb("record", "-q", "-o", "t", "elsewhere/prog", "-c", "exec ./other", status=4)
        self.assertEqual(self.rdb("replay", "-m", "prog.rdb", "t", status=4).out, "n 3\nend 3\n")

    def test_a_program_recorded_by_a_relative_path(self):
        """Its bundle is found from every directory."""
        self.rdb("record", "-q", "-o", "t", "./prog", status=4)
        os.mkdir(self.path("elsewhere"))
        here = self.rdb("replay", "t", status=4)
        self.assertEqual((here.out, here.err), ("n 3\nend 3\n", "rdb: running the debug regions of ./prog.rdb\n"))
        said = f"rdb: running the debug regions of {self.tmp}/./prog.rdb\n"
        for cwd in self.path("elsewhere"), "/":
            there = self.rdb("replay", self.path("t"), cwd=cwd, status=4)
            self.assertEqual((there.out, there.err), ("n 3\nend 3\n", said))
            self.assertIn(said, self.rdb("gdb", self.path("t"), "--", "-nx", "-batch", cwd=cwd, status=0).err)
        # Another program of that name in the current directory does not matter.
        shutil.copy("/bin/true", self.path("elsewhere/prog"))
        os.mkdir(self.path("elsewhere/prog.rdb"))
        there = self.rdb("replay", self.path("t"), cwd=self.path("elsewhere"), status=4)
        self.assertEqual((there.out, there.err), ("n 3\nend 3\n", said))
        # A program that is gone from there is looked for in the current directory.
        os.rmdir(self.path("elsewhere/prog.rdb"))
        for name in "prog", "prog.rdb":
            shutil.move(self.path(name), self.path("elsewhere/" + name))
        there = self.rdb("replay", self.path("t"), cwd=self.path("elsewhere"), status=4)
        self.assertEqual((there.out, there.err), ("n 3\nend 3\n", "rdb: running the debug regions of ./prog.rdb\n"))

    def test_a_bundle_for_nothing_is_an_error(self):
        self.rdb("record", "-q", "-o", "t", "/bin/echo", "hello", status=0)
        for command in ("replay", "gdb"):
            result = self.rdb(command, "-m", "prog.rdb", "t", status=2)
            self.assertEqual(result.out, "")
            self.assertRegex(result.err, r"\Ardb: -m prog.rdb: the recording has no prog, nor the same program or "
                             r"library under another name\n\Z")

    def test_another_build(self):
        self.write("prog.c", REGION.replace("n = 3", "n = 5"))
        os.rename(self.path("prog.rdb"), self.path("old.rdb"))
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-o", "prog", "prog.c"], status=0)
        self.rdb("record", "-q", "-o", "t", "./prog", status=4)
        result = self.rdb("replay", "-m", "old.rdb", "t", status=2)
        self.assertRegex(result.err, r"\Ardb: old.rdb was made for another build of prog[^\n]*\n\Z")
        self.assertEqual(result.out, "")

    def test_a_bundle_of_another_process(self):
        self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", "./prog; exit 3", status=3)
        result = self.rdb("replay", "-m", "prog.rdb", "t", status=2)
        self.assertIn("rdb: prog.rdb was not used: what is replayed does not load prog\n", result.err)
        child = self.processes("t")[-1][0]
        self.assertEqual(self.rdb("replay", "-m", "prog.rdb", "-p", child, "t", status=4).out, "n 3\nend 3\n")


if __name__ == "__main__":
    harness.main()
