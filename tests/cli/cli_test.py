# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rdb command itself: help, version, and what it answers to wrong use."""
import subprocess

import harness


class Cli(harness.TestCase):
    def commands(self):
        """The commands that the help lists."""
        out = self.rdb("help", status=0).out
        listed = out.partition("Commands:\n")[2].partition("\n\n")[0]
        return [line.split()[0] for line in listed.splitlines()]

    def test_version_is_one_line(self):
        result = self.rdb("--version", status=0)
        self.assertRegex(result.out, r"\Ardb \d+\.\d+\.\d+\n\Z")
        self.assertEqual(result.err, "")

    def test_help_goes_to_stdout_and_says_the_exit_statuses(self):
        result = self.rdb("--help", status=0)
        self.assertIn("Usage: rdb COMMAND", result.out)
        self.assertIn("Exit status:", result.out)
        self.assertEqual(result.err, "")
        self.assertEqual(self.rdb("help", status=0).out, result.out)

    def test_every_command_has_help(self):
        for command in self.commands():
            with self.subTest(command=command):
                result = self.rdb("help", command, status=0)
                self.assertIn(f"Usage: rdb {command}", result.out)
                self.assertEqual(self.rdb(command, "--help", status=0).out, result.out)

    def test_every_command_refuses_an_unknown_option(self):
        for command in self.commands():
            with self.subTest(command=command):
                result = self.rdb(command, "--no-such-option", status=2)
                self.assertRegex(result.err, rf"\Ardb: {command}: unknown option '--no-such-option'; .*\n\Z")

    def test_wrong_use_is_one_line_on_stderr_and_status_2(self):
        for args in [], ["frobnicate"], ["--frob"], ["help", "frobnicate"]:
            with self.subTest(args=args):
                result = self.rdb(*args, status=2)
                self.assertRegex(result.err, r"\Ardb: .*'rdb help'.*\n\Z")
                self.assertEqual(result.out, "")

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([harness.rdb(), "help"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertTrue(done.stderr.startswith(b"rdb: cannot write"), done.stderr)


class Run(harness.TestCase):
    def test_options_after_the_program_go_to_the_program(self):
        for args in ["/bin/ls", "--help"], ["--", "/bin/ls", "--help"], ["--no-aslr", "/bin/ls", "--help"]:
            with self.subTest(args=args):
                self.assertTrue(self.rdb("run", *args, status=0).out.startswith("Usage: /bin/ls "))
        self.assertEqual(self.rdb("run", "/usr/bin/printf", "%s.", "--", "a b", "", status=0).out, "--.a b..")

    def test_a_program_named_like_a_command_of_rdb_is_found_in_path(self):
        self.write("names", "")
        self.assertEqual(self.rdb("run", "ls", self.tmp, status=0).out, "names\n")

    def test_the_status_is_the_programs(self):
        self.rdb("run", "/bin/sh", "-c", "exit 7", status=7)
        self.rdb("run", "/bin/sh", "-c", "kill -TERM $$", status=-15)

    def test_wrong_use_is_found_before_anything_starts(self):
        for args, said in (
            (["/no/such/program"], "cannot run /no/such/program: No such file or directory"),
            (["no-such-program"], "there is no program 'no-such-program' in PATH"),
            (["--no-such-option", "/bin/echo", "x"], "unknown option '--no-such-option'"),
            ([], "no program given"),
        ):
            with self.subTest(args=args):
                result = self.rdb("run", *args, status=2)
                self.assertRegex(result.err, r"\Ardb: .*\n\Z")
                self.assertIn(said, result.err)
                self.assertEqual(result.out, "")


if __name__ == "__main__":
    harness.main()
