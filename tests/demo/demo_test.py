# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/demo and scripts/walkthrough: they tell a guide to its end, and notice when a guide is not true."""
import os

import harness

SCRIPTS = os.path.join(harness.SOURCE, "scripts")


class Demo(harness.TestCase):
    def demo(self, *arguments, status=0):
        return self.run_program([os.path.join(SCRIPTS, "demo"), *arguments], timeout=250, status=status, env={"TMPDIR": self.tmp})

    def test_the_calculator_from_crash_to_fix(self):
        out = self.demo("--no-build").out
        self.assertIn("$ rdb record ./calc powers.calc\nrdb: recorded ", out)
        self.assertIn("line 4: for: the condition is the code from 8 to 8\n", out)
        self.assertIn("$ ./calc powers.calc\n181\n2189000\n", out)
        self.assertEqual([name for name in os.listdir(self.tmp) if name.startswith("rdb-")], [])

    def test_all_demos_are_listed(self):
        out = self.demo("--list").out
        names = [line.split()[0] for line in out.splitlines()]
        with_guide = [name for name in sorted(os.listdir(os.path.join(harness.SOURCE, "demo-bugs")))
                      if os.path.exists(os.path.join(harness.SOURCE, "demo-bugs", name, "README.md"))]
        self.assertEqual(names, with_guide)
        self.assertIn("calc", names)

    def test_wrong_use(self):
        self.assertIn("there is no demo 'nothing'", self.demo("nothing", status=2).err)
        self.assertIn("unknown option '--nothing'", self.demo("--nothing", status=2).err)


class Walkthrough(harness.TestCase):
    def guide(self, text):
        path = os.path.join(self.tmp, "guide.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def check(self, text, status):
        return self.run_program([os.path.join(SCRIPTS, "walkthrough"), "--check", self.guide(text)], status=status)

    def test_a_true_guide_passes(self):
        self.check("# x\n<!-- in nothing -->\n```c hello.c\nint main;\n```\n```console\n$ cat hello.c\nint main;\n$ echo at "
                   "0x1234; seq 9\nat 0xabcd\n"
                   "1\n...\n9\n$ sh -c 'kill -SEGV $$'\n(ended by SIGSEGV)\n$ exit 3\n(exit status 3)\n```\n", status=0)

    def test_a_false_line_is_found(self):
        result = self.check("<!-- in nothing -->\n```console\n$ echo one\ntwo\n```\n", status=1)
        self.assertIn("1 commands, 1 differ", result.out)
        self.assertIn("$ echo one", result.err)

    def test_a_missing_line_is_found(self):
        self.check("<!-- in nothing -->\n```console\n$ seq 2\n1\n```\n", status=1)

    def test_small_numbers_count(self):
        self.check("<!-- in nothing -->\n```console\n$ echo 7\n8\n```\n", status=1)

    def test_update_makes_a_guide_true(self):
        path = self.guide("<!-- in nothing -->\n```console\n$ seq 3\n1\n...\n3\n$ echo one\ntwo\n```\nend\n")
        self.run_program([os.path.join(SCRIPTS, "walkthrough"), "--update", path], status=0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "<!-- in nothing -->\n```console\n$ seq 3\n1\n...\n3\n$ echo one\none\n```\nend\n")


if __name__ == "__main__":
    harness.main()
