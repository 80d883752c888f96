# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs of the system (engine/system_programs.py), recorded with checksums and replayed three times; and parts of
Python's own test suite under record and replay. A fixed part by default, all with --full."""
import os
import shutil

import harness
import system_programs

FULL = harness.take_flag("--full")
DEFAULT = ["ls", "sort", "sed", "grep", "perl", "python3", "sqlite3_file", "cc1", "git_log", "openssl_sign", "xz", "tar_create",
           "bash", "find", "cp", "dd"]
PYTHON_TESTS = ["test_json", "test_re", "test_struct", "test_zlib", "test_math", "test_time", "test_threading", "test_queue",
                "test_subprocess", "test_signal", "test_socket"]
PYTHON_DEFAULT = ["test_zlib"]


class RecordedSweep(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fixture = harness.tempfile.mkdtemp(prefix="rdb-sweep-")
        cls.addClassCleanup(shutil.rmtree, cls.fixture, ignore_errors=True)
        system_programs.make_fixture(cls.fixture)
        cls.compilers = {name: system_programs.compiler(name) for name in ("cc1", "cc1plus")}

    def check(self, argv, times=3, **how):
        recorded = self.rdb("record", "--checksum", "-o", self.path("trace"), "--", *argv, cwd=self.path("work"), **how)
        self.assertNotEqual(recorded.status, 125, f"\n{recorded}")
        shutil.rmtree(self.path("work"))
        for _ in range(times):
            replayed = self.rdb("replay", "--no-module", self.path("trace"), text=how.get("text", True))
            self.assertEqual(replayed.out, recorded.out, f"\n{replayed}")
            self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")

    def check_program(self, name):
        argv = [word.format(**self.compilers) if word.startswith("{cc1") else word for word in system_programs.COMMANDS[name]]
        if name in system_programs.OPTIONAL and not os.path.exists(argv[0]):
            self.skipTest(f"{argv[0] or name} is not installed")
        shutil.copytree(self.fixture, self.path("work"), symlinks=True)
        self.check(argv, stdin=system_programs.STDIN.get(name, ""), text=False,
                   env={"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"})

    def check_python(self, name):
        if self.run_program(["/usr/bin/python3", "-c", f"import test.{name}"]).status != 0:
            self.skipTest("Python's test suite is not installed: scripts/deps --full")
        os.mkdir(self.path("work"))
        self.check(["/usr/bin/python3", "-m", "unittest", "-q", f"test.{name}"], times=1, timeout=2400, status=0)


def add_tests():
    for name in system_programs.COMMANDS if FULL else DEFAULT:
        setattr(RecordedSweep, f"test_{name}", lambda self, name=name: self.check_program(name))
    for name in PYTHON_TESTS if FULL else PYTHON_DEFAULT:
        setattr(RecordedSweep, f"test_python_{name}", lambda self, name=name: self.check_python(name))


add_tests()

if __name__ == "__main__":
    harness.main()
