# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The project's own scripts: scripts/deps with stand-ins for Debian's tools, the total that scripts/test prints, and
that what the documents link to and tell to run is there."""
import os
import re
import stat

import harness

SCRIPTS = os.path.join(harness.SOURCE, "scripts")


class Deps(harness.TestCase):
    """The stand-ins log how they were called; $HAVE lists the installed packages, $OFFERED those apt can have."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        self.log = self.write("log", "")
        self.stand_in("dpkg-query", 'for p in $HAVE; do [ "$p" != "${!#}" ] || { printf installed; exit 0; }; done; exit 1')
        self.stand_in("apt-cache",
                      'case " $OFFERED " in *" $2 "*) echo "  Candidate: 1.0";; *) echo "  Candidate: (none)";; esac')
        self.stand_in("apt-get", f'echo "apt-get $*" >>{self.log}; case "$*" in *install*"$BROKEN"*) [ -z "$BROKEN" ];; esac')
        self.stand_in("sudo", f'echo sudo >>{self.log}; exec "$@"')
        self.stand_in("id", "echo ${ID-0}")

    def stand_in(self, name, script):
        path = self.write(os.path.join("bin", name), f"#!/bin/bash\n{script}\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def deps(self, *args, have, offered=(), **env):
        env = {"HAVE": " ".join(have), "OFFERED": " ".join(offered), "BROKEN": "", **env}
        return self.run_program([os.path.join(SCRIPTS, "deps"), *args],
                                env={"PATH": f"{self.path('bin')}:/usr/bin:/bin", **env})

    def calls(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def packages(self, *args):
        return self.deps("--list", *args, have=[]).out.split()

    def test_does_nothing_when_all_is_there(self):
        result = self.deps(have=self.packages())
        self.assertEqual((result.status, result.out, result.err, self.calls()), (0, "", "", ""))

    def test_installs_what_is_missing_and_nothing_else(self):
        packages = self.packages()
        result = self.deps(have=packages[:-2], offered=packages)
        self.assertEqual(result.status, 0, result)
        install = self.calls().splitlines()[-1]
        self.assertTrue(install.endswith(" ".join(["install -y --no-install-recommends", *packages[-2:]])), install)
        self.assertNotIn("sudo", self.calls())

    def test_uses_sudo_when_not_root(self):
        packages = self.packages()
        self.assertEqual(self.deps(have=packages[1:], offered=packages, ID="1000").status, 0)
        self.assertIn("sudo", self.calls())

    def test_names_a_package_that_no_source_has(self):
        packages = self.packages()
        result = self.deps(have=packages[2:], offered=packages[:1])
        self.assertEqual(result.status, 1)
        self.assertIn(f"in none of this machine's package sources: {packages[1]}\n", result.err)
        self.assertNotIn("install", self.calls())

    def test_names_a_package_that_cannot_be_installed(self):
        packages = self.packages()
        result = self.deps(have=packages[3:], offered=packages, BROKEN=packages[1])
        self.assertEqual(result.status, 1)
        self.assertTrue(result.err.endswith(f"could not install: {packages[1]}\n"), result.err)

    def test_full_adds_packages(self):
        self.assertEqual(self.packages("--full")[:len(self.packages())], self.packages())
        self.assertGreater(len(self.packages("--full")), len(self.packages()))


def junit(*tests):
    cases = "".join(f'<testcase name="{name}" status="{status}"><system-out>{out}</system-out></testcase>'
                    for name, status, out in tests)
    return f"<testsuite>{cases}</testsuite>"


class Total(harness.TestCase):
    def total(self, *tests):
        self.write("results.xml", junit(*tests))
        result = self.run_program([os.path.join(SCRIPTS, "test-total"), self.path("results.xml")])
        return result.status, result.out

    GTEST = "[==========] 5 tests from 2 test suites ran. (0 ms total)\n[  PASSED  ] 5 tests.\n"
    GTEST_FAILED = ("[==========] 5 tests from 2 test suites ran. (0 ms total)\n[  PASSED  ] 2 tests.\n"
                    "[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 2 tests, listed below:\n")

    def test_cases_inside_programs_are_counted(self):
        unittest_out = "Ran 3 tests in 0.1s\n\nOK (skipped=1)\n"
        self.assertEqual(self.total(("unit.a", "run", self.GTEST), ("e2e.b", "run", unittest_out), ("other", "run", "")),
                         (0, "8 passed, 0 failed, 1 skipped\n"))

    def test_failures_are_counted_and_named(self):
        unittest_out = "Ran 6 tests in 0.1s\n\nFAILED (failures=2, errors=1, skipped=1)\n"
        status, out = self.total(("unit.a", "fail", self.GTEST_FAILED), ("e2e.b", "fail", unittest_out))
        self.assertEqual(status, 1)
        self.assertIn("failed: unit.a ", out)
        self.assertEqual(out.splitlines()[-1], "4 passed, 5 failed, 2 skipped")

    def test_a_program_that_died_is_a_failure(self):
        self.assertEqual(self.total(("unit.a", "fail", "Segmentation fault\n"))[1].splitlines()[-1], "0 passed, 1 failed")
        self.assertEqual(self.total(("unit.a", "fail", self.GTEST))[1].splitlines()[-1], "4 passed, 1 failed")

    def test_what_did_not_run_keeps_its_line(self):
        def page_of(commit, missing, *tests):
            xml = junit(*tests).replace("<testcase ", f'<testcase time="2" commit="{commit}" ')
            self.write("results.xml", xml)
            self.run_program([os.path.join(SCRIPTS, "test-total"), "--status", self.path("page.md"), "--missing", missing,
                              self.path("results.xml")])
            with open(self.path("page.md"), encoding="utf-8") as file:
                return file.read()
        page = page_of("aaa1111", "e2e.never", ("unit.a", "run", self.GTEST),
                       ("e2e.long", "run", "Ran 3 tests in 1s\n\nOK (skipped=1)\n"))
        self.assertIn("commit aaa1111: **7 passed, 0 failed, 1 skipped**", page)
        self.assertIn("Not run: e2e.never.\n", page)
        page = page_of("bbb2222", "e2e.long e2e.never", ("unit.a", "run", self.GTEST), ("unit.b", "run", self.GTEST))
        self.assertIn("commit bbb2222: **12 passed, 0 failed, 1 skipped**", page)
        self.assertIn("| e2e.long | 3 |  | 1 | 2 | aaa1111 |\n| unit.a | 5 |  |  | 2 |  |\n", page)
        page = page_of("ccc3333", "e2e.long e2e.never unit.b", ("unit.a", "run", self.GTEST), ("unit.c", "run", ""),
                       ("unit.d", "run", ""))
        self.assertIn("| e2e.long | 3 |  | 1 | 2 | aaa1111 |\n", page)
        self.assertIn("| unit.b | 5 |  |  | 2 | bbb2222 |\n", page)
        self.assertIn("Not run: e2e.never.\n", page)

    def test_nothing_run_is_not_success(self):
        self.assertEqual(self.total(), (1, "0 passed, 0 failed\n"))


class Full(harness.TestCase):
    """scripts/test-full on a build folder of three small tests, one of which fails until it is mended."""

    def setUp(self):
        super().setUp()
        self.write("CTestTestfile.cmake", "".join(
            f'add_test("{name}" "/bin/sh" "-c" "{command}")\n' for name, command in
            (("unit.good", "echo ran >>good"), ("unit.late", "echo ran >>late; test -e mended"), ("unit.good.too", "true"))))

    def full(self, *args, status):
        return self.run_program([os.path.join(SCRIPTS, "test-full"), "--build", self.tmp, *args], status=status).out

    def times(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return len(file.readlines())

    def page(self):
        with open(self.path("test-status.md"), encoding="utf-8") as file:
            return file.read()

    def test_what_failed_can_be_mended_and_run_again(self):
        out = self.full(status=1)
        self.assertIn("[3 of 3, ", out)
        self.assertIn("unit.late: FAILED, ", out)
        self.assertEqual(out.splitlines()[-1], "2 passed, 1 failed")
        self.assertIn("**2 passed, 1 failed**", self.page())
        self.assertIn("| unit.late | 1 | 1 |", self.page())
        self.write("mended", "")
        self.assertEqual(self.full("--resume", status=0).splitlines()[-1], "3 passed, 0 failed")
        self.assertIn("**3 passed, 0 failed**", self.page())
        self.assertEqual((self.times("good"), self.times("late")), (1, 2))

    def test_some_tests_alone_leave_the_page(self):
        self.assertIn("2 tests have not run", self.full("unit.good", status=0))
        self.assertFalse(os.path.exists(self.path("test-status.md")))
        self.full("--page", status=0)
        self.assertIn("\nNot run: unit.late, unit.good.too.\n", self.page())
        self.full("unit.late", "unit.good.too", status=1)
        self.assertIn("**2 passed, 1 failed**", self.page())
        self.assertNotIn("Not run", self.page())
        self.assertEqual(self.times("good"), 1)

    def test_an_unknown_name_is_wrong_use(self):
        self.full("unit.goo", status=2)


class WrongUse(harness.TestCase):
    ALL = ("build", "check", "demo", "deps", "dist", "fresh-test", "test", "walkthrough")

    def test_every_script_names_the_wrong_argument_and_exits_with_2(self):
        for script, *words in (*([name] for name in self.ALL if name != "walkthrough"), ("walkthrough", "guide.md")):
            with self.subTest(script):
                result = self.run_program([os.path.join(SCRIPTS, script), "--nonsense", *words], status=2)
                self.assertIn("--nonsense", result.err)
                self.assertEqual(result.out, "")

    def test_every_script_explains_itself(self):
        for script in self.ALL:
            with self.subTest(script):
                result = self.run_program([os.path.join(SCRIPTS, script), "--help"], status=0)
                self.assertIn(f"scripts/{script}", result.out)


class Documents(harness.TestCase):
    def documents(self):
        listed = self.run_program(["/usr/bin/find", harness.SOURCE, "-name", "*.md", "-not", "-path", "*/build*/*",
                                   "-not", "-path", "*/.git/*"], status=0)
        for path in listed.out.split("\n"):
            if path:
                with open(path, encoding="utf-8") as file:
                    yield path, file.read()

    def test_every_folder_says_what_lives_there(self):
        for folder in ("bench", "codegen-patch", "demo-bugs", "descriptors", "llvm-passes", "runtime-libs", "scripts", "tests",
                       "rdbtool",
                       *(f"rdbtool/{part}" for part in ("base", "cli", "debug", "engine", "gdb", "guest", "record", "replay",
                                                        "trace"))):
            with self.subTest(folder):
                with open(os.path.join(harness.SOURCE, folder, "README.md"), encoding="utf-8") as file:
                    self.assertGreater(len(file.read().split()), 15)

    def test_links_lead_somewhere(self):
        for path, text in self.documents():
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), link)), f"{path}: {link}")

    def test_scripts_that_are_told_to_run_exist(self):
        for path, text in self.documents():
            for script in re.findall(r"\b(?:scripts|\.ci)/[a-z-]+", text):
                self.assertTrue(os.path.exists(os.path.join(harness.SOURCE, script)), f"{path}: {script}")


if __name__ == "__main__":
    harness.main()
