# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions in a forked process: they run in its ancestors' part too, so that what they remember is right, but only
what they print in the process itself is shown."""

import harness

SOURCE = harness.program_text(__file__, "forked_regions/source.c")

THREADS = harness.program_text(__file__, "forked_regions/threads.c")


class ForkedRegions(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write("tree.c", SOURCE)
        self.run_program([harness.program("rdb-clang"), "-g", "-o", "tree", "tree.c"], status=0)

    def child(self):
        rows = [row.split() for row in self.rdb("ps", "trace", status=0).out.splitlines()[1:]]
        self.assertEqual(len(rows), 2)
        return rows[1][0]

    def test_each_process_shows_its_own(self):
        self.rdb("record", "--checksum", "-o", "trace", "./tree", status=0)
        for prefix in ([], ["--prefix"]):
            parent = self.rdb("replay", *prefix, "trace", status=0)
            for hit in (1, 2, 3):
                self.assertIn(f"debug: parent, step {hit}, hit {hit}\n", parent.out)
            child = self.rdb("replay", *prefix, "-p", self.child(), "trace", status=3)
            self.assertNotIn("parent", child.out + child.err, f"\n{child}")
            self.assertIn("debug: child, step 3, hit 3\n", child.out)
            self.assertIn("written\n", child.out)
            self.assertIn("aside: child\n", child.err)

    def test_the_prefix_names_process_and_thread(self):
        self.write("threads.c", THREADS)
        self.run_program([harness.program("rdb-clang"), "-g", "-pthread", "-o", "threads", "threads.c"], status=0)
        self.rdb("record", "-o", "trace", "./threads", status=0)
        child = self.child()
        replayed = self.rdb("replay", "--prefix", "-p", child, "trace", status=0)
        self.assertRegex(replayed.out, rf"^\[\d+ {child} threads.c:\d+\] says main\n"
                                       rf"\[\d+ {child}/\d+ threads.c:\d+\] says thread\n$")

    def test_what_goes_wrong_in_an_ancestor_is_told(self):
        self.rdb("record", "-o", "trace", "./tree", "bad", status=0)
        child = self.rdb("replay", "-p", self.child(), "trace", status=3)
        self.assertIn("this region is not run any more", child.err)
        self.assertEqual(child.out, "written\n")

    def test_programs_one_after_another(self):
        self.rdb("record", "-o", "trace", "/bin/sh", "-c", "echo shell; exec ./tree", status=0)
        replayed = self.rdb("replay", "--debug-output", "debug.txt", "-m", "tree.rdb", "trace", status=0)
        self.assertEqual(replayed.out, "shell\n")
        self.assertNotIn("was not used", replayed.err)
        with open(self.path("debug.txt"), encoding="utf-8") as file:
            self.assertIn("debug: parent, step 3, hit 3\n", file.read())
        # The bundle is found by itself beside the program that it belongs to.
        self.assertIn("debug: parent, step 3, hit 3\n", self.rdb("replay", "trace", status=0).out)

    def test_events_of_ancestors_are_not_shown(self):
        self.rdb("record", "-o", "trace", "./tree", status=0)
        child = self.rdb("replay", "--no-module", "--trace-syscalls=write,mmap,exit_group", "-p", self.child(), "trace",
                         status=3)
        shown = child.out + child.err
        self.assertIn("write(1, ", shown)
        self.assertIn("exit_group(3)", shown)
        self.assertNotIn("mmap(", shown)


if __name__ == "__main__":
    harness.main()
