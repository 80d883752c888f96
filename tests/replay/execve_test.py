# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A process that becomes another program by execve: a replay plays it from its first program to its last."""
import os

import harness


class Programs(harness.TestCase):
    def names(self):
        return [line.split()[0] for line in self.rdb("ps", "trace", status=0).out.splitlines()[1:]]

    def test_a_script_by_env(self):
        self.write("script", "#!/usr/bin/env -S /usr/bin/python3 -I\nimport sys\nprint('from the script')\nsys.exit(5)\n")
        os.chmod(self.path("script"), 0o755)
        recorded = self.rdb("record", "--checksum", "-o", "trace", "./script", status=5)
        self.assertIn(" instructions of 2 programs, exit 5, ", recorded.err)
        self.assertEqual(self.rdb("replay", "trace", status=5).out, "from the script\n")
        self.assertEqual(self.rdb("replay", "--quiet", "trace", status=5).out, "")

    def test_one_program_by_name(self):
        self.rdb("record", "-o", "trace", "/bin/sh", "-c", "echo shell; exec /bin/echo program", status=0)
        whole = self.rdb("replay", "trace", status=0)
        self.assertEqual((whole.out, whole.err), ("shell\nprogram\n", ""))
        first, second = self.names()
        shell = self.rdb("replay", "-p", first, "trace", status=0)
        self.assertEqual(shell.out, "shell\n")
        self.assertIn(f"it became another program by execve: 'rdb replay -p {second}'", shell.err)
        program = self.rdb("replay", "-p", second, "trace", status=0)
        self.assertEqual((program.out, program.err), ("program\n", ""))

    def test_times_are_those_of_the_last_program(self):
        self.rdb("record", "-o", "trace", "/bin/sh", "-c", "echo shell; exec /bin/echo program", status=0)
        stopped = self.rdb("replay", "--to", "1000", "trace", status=0)
        named = self.rdb("replay", "--to", "1000", "-p", self.names()[1], "trace", status=0)
        self.assertEqual((stopped.out, stopped.err), (named.out, named.err))
        self.assertIn("stopped at time 1000", stopped.err)

    def test_death_of_the_last_program(self):
        crash = harness.target("engine/crash") + " segv"
        self.rdb("record", "-o", "trace", "/bin/sh", "-c", f"exec {crash}", status=-11)
        replayed = self.rdb("replay", "trace", status=-11)
        self.assertIn("rdb: the program died of SIGSEGV", replayed.err)
        self.assertIn("'rdb gdb' looks around there", replayed.err)
        # Of a child, the name is part of what to do next.
        self.rdb("record", "-o", "trace2", "/bin/sh", "-c", f"{crash}; exit 0", status=0)
        child = [line.split() for line in self.rdb("ps", "trace2", status=0).out.splitlines() if "SIGSEGV" in line]
        self.assertEqual(len(child), 1)
        replayed = self.rdb("replay", "-p", child[0][0], "trace2", status=-11)
        self.assertIn(f"'rdb gdb -p {child[0][0]}' looks around there", replayed.err)

    def test_a_last_program_that_is_killed(self):
        """The recording ends with what the process had become, not with its first program."""
        self.write("wait.py", "import time\nopen('begun', 'w').write('x\\n')\ntime.sleep(1000)\n")
        script = "mkfifo begun; { read x <begun; kill -9 $$; } & exec /usr/bin/python3 wait.py"
        recorded = self.rdb("record", "-o", "trace", "/bin/sh", "-c", script, status=-9)
        self.assertIn("rdb: the recording ended early: the program was killed by SIGKILL; ", recorded.err)
        self.assertIn("the program was killed by SIGKILL after time ", self.rdb("replay", "trace", status=-9).err)

    def test_names_that_one_of_the_programs_knows(self):
        self.rdb("record", "-o", "trace", "/bin/sh", "-c", f"exec {harness.target('gdb/steps')}", status=7)
        known = self.rdb("replay", "--trace-calls", "add", "trace", status=7)
        self.assertIn("add(", known.err)
        self.assertNotIn("is called", known.err)
        unknown = self.rdb("replay", "--trace-calls", "no_such_function", "trace", status=7)
        self.assertEqual(unknown.err.count("nothing in the recording is called no_such_function"), 1)


if __name__ == "__main__":
    harness.main()
