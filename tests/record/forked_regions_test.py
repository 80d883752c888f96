# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions in a forked process: they run in its ancestors' part too, so that what they remember is right, but only
what they print in the process itself is shown."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

SOURCE = r"""
#include <rdb/rdb.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
rdb_begin_globals
static int hits;
rdb_end_globals
static int steps;
static void step(const char *who) {
  steps++;
  rdb_begin
    printf("debug: %s, step %d, hit %d\n", who, steps, ++hits);
    fprintf(stderr, "aside: %s\n", who);
    if (steps == 1 && who[0] == 'b') *(volatile int *)0 = 0;
  rdb_end
}
int main(int argc, char **argv) {
  step(argc > 1 ? argv[1] : "parent");
  step("parent");
  pid_t child = fork();
  if (child == 0) {
    step("child");
    write(1, "written\n", 8);
    _exit(3);
  }
  waitpid(child, 0, 0);
  step("parent");
  return 0;
}
"""

THREADS = r"""
#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *say(void *what) {
  rdb_begin
    printf("says %s\n", (char *)what);
  rdb_end
  return what;
}
int main(void) {
  pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    say("main");
    pthread_create(&thread, 0, say, "thread");
    pthread_join(thread, 0);
    _exit(0);
  }
  waitpid(child, 0, 0);
  return 0;
}
"""


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
