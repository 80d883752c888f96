# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gdb that rdb starts: variables, files of the home directory and of the current directory, and scripts in and beside
what was recorded. Questions (history, last-write, print) have the same answer whatever is there; the user's own gdb has
the user's settings; and neither runs what came with a recording."""
import os
import re
import signal
import subprocess
import sysconfig

import harness

SOURCE = harness.program_text(__file__, "surroundings.c")
QUESTIONS = [("history", "i", "./trace", "--at", "hit"), ("last-write", "total", "./trace"), ("print", "./trace", "@hit", "i")]
# What cannot be loaded, with the name of a module that everything needs.
BROKEN = "open('RAN', 'a').write('module ')\nraise Exception('broken')\n"


class Surroundings(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write("prog.c", SOURCE)
        self.run_program(["/usr/bin/gcc", "-g", "-o", "prog", "prog.c"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./prog", status=0)
        self.expected = [self.rdb(*question, status=0).out for question in QUESTIONS]
        os.mkdir(self.path("modules"))
        for name in ("json", "re", "sitecustomize", "usercustomize"):
            self.write(f"modules/{name}.py", BROKEN)

    def ran(self):
        """What left a trace in a current directory, and forgets it."""
        words = set()
        for path in (self.path("RAN"), self.path("here/RAN")):
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    words.update(file.read().split())
                os.unlink(path)
        return sorted(words)

    def lay_traps(self):
        """Of everything that gdb or Python may run by itself."""
        self.write("prog-gdb.py", "open('RAN', 'a').write('python ')\n")
        self.write("prog-gdb.gdb", "shell echo gdb >> RAN\n")
        os.makedirs(self.path("here"))
        for name in (".gdbinit", "here/.gdbinit"):
            self.write(name, "shell echo current >> RAN\n")
        os.makedirs(self.path("home"))
        self.write("home/.gdbearlyinit", "set startup-quietly on\n")
        self.write("home/.gdbinit", "shell echo home >> RAN\nset auto-load safe-path /\n")
        site = "home/.local/lib/python%s/site-packages" % sysconfig.get_python_version()
        os.makedirs(self.path(site))
        self.write(site + "/trap.pth", f"import os; open({self.path('RAN')!r}, 'a').write('site ')\n")
        return {"HOME": self.path("home")}

    def gdb(self, *commands, **how):
        words = [word for command in commands for word in ("-ex", command)]
        return self.rdb("gdb", self.path("trace"), "--", "-batch", *words, **how)

    def assert_same_answers(self, env):
        for question, expected in zip(QUESTIONS, self.expected):
            with self.subTest(env=env, question=question):
                result = self.rdb(*question, env=env, status=0)
                self.assertEqual((result.out, result.err), (expected, ""))
                self.assertEqual(self.ran(), [])

    def test_variables_change_no_answers(self):
        for env in ({"PYTHONHOME": "/nonexistent"}, {"PYTHONPATH": self.path("modules")}, {"PYTHONVERBOSE": "1"},
                    {"LANGUAGE": "de", "LC_ALL": "de_DE.UTF-8"}, {"DEBUGINFOD_URLS": "http://127.0.0.1:1/"}):
            self.assert_same_answers(env)

    def test_files_change_no_answers(self):
        self.assert_same_answers(self.lay_traps())

    def test_the_users_gdb_runs_the_users_settings_only(self):
        env = self.lay_traps()
        # gdb itself goes into every trap.
        self.run_program(["/usr/bin/gdb", "-batch", self.path("prog")], env=env, cwd=self.path("here"), status=0)
        self.assertEqual(self.ran(), ["current", "gdb", "home", "python", "section", "site"])
        # "site" is Python's own; gdb runs it whatever starts it.
        result = self.gdb("break hit", "continue", "print i", env=env, cwd=self.path("here"), status=0)
        self.assertIn("$1 = 0", result.out, f"\n{result}")
        self.assertEqual(self.ran(), ["home", "site"], f"\n{result}")
        # A program that has changed: gdb takes the recorded copy.
        with open(self.path("prog"), "ab") as file:
            file.write(b"more")
        result = self.gdb("break hit", "continue", "print i", env=env, cwd=self.path("here"), status=0)
        self.assertEqual(self.ran(), ["home", "site"], f"\n{result}")

    def test_the_users_gdb_starts_with_anothers_python(self):
        result = self.gdb("when", env={"PYTHONHOME": "/nonexistent"}, status=0)
        self.assertRegex(result.out, r"(?m)^At 0, thread \d+\.$")

    def test_the_users_modules_do_not_stand_in_for_pythons(self):
        """They are found after Python's own, from the user's settings on."""
        for name in ("re", "json", "encodings", "os"):
            self.write(f"modules/{name}.py", BROKEN)
        self.write("modules/users_own.py", "VALUE = 77\n")
        os.mkdir(self.path("home"))
        self.write("home/.gdbinit", "python import users_own\npython print('value', users_own.VALUE)\nshell echo path $PYTHONPATH\n")
        path = ":" + self.path("modules")
        result = self.gdb("when", "goto end", "when", env={"PYTHONPATH": path, "HOME": self.path("home")}, status=0)
        self.assertRegex(result.out, r"(?m)^value 77$", f"\n{result}")
        self.assertIn(f"path {path}\n", result.out)
        self.assertEqual(2, len(re.findall(r"(?m)^At \d+, thread \d+\.$", result.out)), f"\n{result}")

    def test_a_gdb_that_cannot_begin_says_so(self):
        self.write("broken", "#!/bin/sh\nexit 1\n")
        os.chmod(self.path("broken"), 0o755)
        result = self.rdb("gdb", "--gdb", self.path("broken"), "./trace", status=1)
        self.assertEqual(result.err, f"rdb: {self.path('broken')} ended with status 1 before it was connected to the recording\n")
        result = self.rdb("gdb", "--gdb", "/nonexistent/gdb", "./trace", status=2)
        self.assertRegex(result.err, r"\Ardb: /nonexistent/gdb: No such file or directory; install gdb, [^\n]*\n\Z")

    def test_a_gdb_that_is_killed(self):
        os.mkdir(self.path("bin"))
        self.write("bin/gdb", "#!/bin/sh\nkill -9 $$\n")
        os.chmod(self.path("bin/gdb"), 0o755)
        env = {"PATH": self.path("bin") + ":/usr/bin:/bin"}
        for command in [*QUESTIONS, ("gdb", "./trace")]:
            with self.subTest(command=command):
                result = self.rdb(*command, env=env, status=137)
                self.assertEqual(result.err, "rdb: gdb was ended by SIGKILL\n")

    def test_nothing_is_left_by_what_is_ended(self):
        """Whatever ends it, and while gdb is busy: no folder is left, and no process that could still write."""
        os.mkdir(self.path("bin"))
        os.mkdir(self.path("temporary"))
        os.mkfifo(self.path("busy"))
        self.write("bin/gdb", f"#!/bin/sh\nprintf busy > {self.path('busy')}\nexec sleep 1000\n")
        os.chmod(self.path("bin/gdb"), 0o755)
        env = self.environment({"PATH": self.path("bin") + ":/usr/bin:/bin", "TMPDIR": self.path("temporary")})
        for question in [*QUESTIONS, ("gdb", "./trace")]:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
                if question[0] == "gdb" and number in (signal.SIGINT, signal.SIGKILL):
                    continue  # the user's gdb goes on
                with self.subTest(question=question, signal=number):
                    child = subprocess.Popen([harness.rdb(), *question], cwd=self.tmp, env=env, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
                    with open(self.path("busy"), encoding="ascii") as file:
                        self.assertEqual(file.read(), "busy")
                    self.assertTrue(os.listdir(self.path("temporary")))
                    os.kill(child.pid, number)
                    child.communicate(timeout=60)
                    self.assertEqual(os.listdir(self.path("temporary")), [])

    def test_no_place_for_temporary_files(self):
        for variable in ("TMPDIR", "TEMP"):
            for command in [*QUESTIONS, ("gdb", "./trace")]:
                with self.subTest(variable=variable, command=command):
                    env = {"TMPDIR": "", variable: "/nonexistent"}
                    result = self.rdb(*command, env=env, status=2)
                    self.assertEqual(result.err, "rdb: cannot make a temporary file or folder in /nonexistent: No such file or "
                                     f"directory; set {variable} to a folder that you can write to\n")

    @harness.needs_compiler
    def test_no_place_for_a_compilers_temporary_files(self):
        result = self.run_program([harness.program("rdb-clang"), "prog.c", "-o", "other"], env={"TMPDIR": "/nonexistent"},
                                  status=1)
        self.assertRegex(result.err,
                         r"(?m)^rdb-clang: error: cannot make a temporary file or folder in /nonexistent: No such file or "
                         "directory; set TMPDIR to a folder that you can write to$")


if __name__ == "__main__":
    harness.main()
