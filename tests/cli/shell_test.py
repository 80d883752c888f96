# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rdb gives the user's surroundings: shell completion, manual pages, a check of the machine."""
import os
import re

import harness


class Shell(harness.TestCase):
    def commands(self):
        return re.findall(r"(?m)^  ([\w-]+) {2,}\S", self.rdb("help", status=0).out.partition("Commands:")[2])

    def complete(self, *words, env=None):
        """What bash offers for the last of these words."""
        self.write("rdb.bash", self.rdb("completion", "bash", status=0).out)
        quoted = " ".join(f"'{word}'" for word in ("rdb", *words))
        script = f"source ./rdb.bash; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _rdb; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return self.run_program(["/bin/bash", "-c", script], env=env, status=0).out.split()

    def test_bash_completes_commands(self):
        self.assertEqual(sorted(self.complete("")), sorted([*self.commands(), "help", "--help", "--version"]))
        self.assertEqual(self.complete("unp"), ["unpack"])
        self.assertEqual(self.complete("help", "insp"), ["inspect"])

    def test_bash_completes_options_as_the_help_lists_them(self):
        for command in self.commands():
            with self.subTest(command=command):
                listed = set(re.findall(r"(?m)(?<![\w-])--[a-z][a-z-]+",
                                        self.rdb("help", command, status=0).out.partition("Options:")[2]))
                offered = set(self.complete(command, "--"))
                self.assertTrue(offered, command)
                self.assertLessEqual(offered, listed)

    def test_bash_completes_recordings(self):
        for name in "calc-0", "calc-1", "order-0":
            os.makedirs(self.path(os.path.join("traces", name)))
        found = self.complete("replay", "calc", env={"RDB_TRACE_DIR": self.path("traces")})
        self.assertEqual(found, ["calc-0", "calc-1"])

    def test_zsh_completion_names_every_command(self):
        text = self.rdb("completion", "zsh", status=0).out
        self.assertTrue(text.startswith("#compdef rdb\n"))
        for command in self.commands():
            self.assertIn(f"    '{command}:", text)
            self.assertIn(f"    {command}) _arguments", text)

    def test_another_shell_is_wrong_use(self):
        self.assertIn("bash or zsh", self.rdb("completion", "fish", status=2).err)

    def test_manual_pages_say_what_the_help_says(self):
        os.mkdir(self.path("man"))
        self.rdb("completion", "--man", self.path("man"), status=0)
        self.assertEqual(sorted(os.listdir(self.path("man"))), sorted(["rdb.1", *(f"rdb-{name}.1" for name in self.commands())]))
        with open(self.path("man/rdb-replay.1"), encoding="utf-8") as file:
            page = file.read()
        self.assertTrue(page.startswith(".TH RDB\\-REPLAY 1 "))
        self.assertIn("rdb replay [options] [TRACE]", page)
        self.assertIn("\\-\\-quiet", page)
        self.rdb("completion", "--man", "/no/such/folder", status=2)


class Doctor(harness.TestCase):
    def test_this_machine_is_fine(self):
        out = self.rdb("doctor", status=0).out
        for what in "kernel", "processor", "engine", "recordings", "mappings", "addresses", "watchpoints", "confinement":
            self.assertRegex(out, rf"(?m)^ok   {what} +\S")
        self.assertNotIn("BAD", out)

    def test_a_place_without_write_permission_is_named(self):
        result = self.rdb("doctor", env={"RDB_TRACE_DIR": "/proc/1/rdb"}, status=1)
        self.assertRegex(result.out, r"(?m)^BAD  recordings +/proc/1 cannot be written to; set RDB_TRACE_DIR$")

    def test_without_gdb_it_says_what_is_missing(self):
        result = self.rdb("doctor", env={"PATH": self.tmp})
        self.assertRegex(result.out, r"(?m)^--   gdb +not found")


if __name__ == "__main__":
    harness.main()
