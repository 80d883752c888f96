# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real programs of the system (system_programs.py) under the engine, with the native run as the expected output: stdout,
stderr, exit status and every file of the working directory. By default all run in the fast engine, some in lockstep and some
one instruction at a time; with --full all run in lockstep.

    tests/run tests/engine/sweep_test.py [--full] [Sweep.test_NAME_ENGINE ...]
"""
import os
import shutil

import guests
import harness
import system_programs

FULL = harness.take_flag("--full")


class Sweep(guests.GuestTest):
    default_timeout = 900  # for lockstep on a busy machine

    @classmethod
    def setUpClass(cls):
        cls.fixture = harness.tempfile.mkdtemp(prefix="rdb-sweep-")
        cls.addClassCleanup(shutil.rmtree, cls.fixture, ignore_errors=True)
        system_programs.make_fixture(cls.fixture)
        cls.native = {}
        cls.compilers = {name: system_programs.compiler(name) for name in ("cc1", "cc1plus")}

    def in_fresh_fixture(self, run):
        work = self.path("work")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.fixture, work, symlinks=True)
        result = run(work)
        return result, system_programs.tree_state(work)

    def check(self, name, engine):
        argv = [word.format(**self.compilers) if word.startswith("{cc1") else word for word in system_programs.COMMANDS[name]]
        if name in system_programs.OPTIONAL and not os.path.exists(argv[0]):
            self.skipTest(f"{argv[0] or name} is not installed")
        how = {"stdin": system_programs.STDIN.get(name, ""), "text": False,
               "env": {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
                       "GIT_CONFIG_GLOBAL": "/dev/null", "PYTHONDONTWRITEBYTECODE": "1"}}
        if name not in self.native:  # one native run serves all engines: each ran in a directory of the same content
            self.native[name] = self.in_fresh_fixture(lambda work: self.run_program(argv, cwd=work, **how))
        native, files = self.native[name]
        result, files_after = self.in_fresh_fixture(
            lambda work: self.rdb_run(guests.ENGINES[engine], argv, cwd=work, **how))
        self.assert_same(native, result)
        self.assertEqual({path for path in files | files_after if files.get(path) != files_after.get(path)}, set(),
                         "files that differ")


def add_tests():
    for name in system_programs.COMMANDS:
        for engine in ["fast"] + (["lockstep"] if FULL or name in system_programs.LOCKSTEP
                                  else []) + (["step"] if name in system_programs.STEP else []):
            def test(self, name=name, engine=engine):
                self.check(name, engine)
            setattr(Sweep, f"test_{name}_{engine}", test)


add_tests()

if __name__ == "__main__":
    harness.main()
