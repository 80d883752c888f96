# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a guest ends: exit statuses, and deaths by a signal, are the native ones; a shell sees no difference."""
import os

import guests
import harness

WAYS = {
    "segv": -11, "segv-read-only": -11, "jump-null": -11, "jump-wild": -11, "jump-data": -11, "jump-kernel": -11,
    "jump-unmapped": -11, "ill": -4, "fpe": -8, "trap": -5, "hlt": -11, "int80-like": -11, "bus": -7, "abort": -6,
    "overflow": -11, "raise-term": -15, "kill-self": -9, "blocked": -11, "ignored": -11, "in-handler": -11, "exit-3": 3,
    "exit-255": 255, "exit-raw": 77, "exit-big": 0x34,
}


class Deaths(guests.GuestTest):
    def test_the_shell_sees_the_signal(self):
        result = self.run_program(["/bin/sh", "-c", '"$@"; echo $?', "sh", harness.rdb(), "run", "--",
                                   harness.target("engine/crash"), "segv"])
        self.assertEqual(result.out, "before segv\n139\n")

    def test_a_program_that_is_not_there_is_the_users_mistake(self):
        result = self.rdb_run([], ["/nonexistent/program"], status=2)
        self.assertRegex(result.err, r"\Ardb: .*/nonexistent/program.*\n\Z")

    def test_a_file_that_is_no_program_is_the_users_mistake(self):
        for name, text in ("plain", "no program\n"), ("empty", ""), ("truncated", "\x7fELF"):
            with self.subTest(file=name):
                path = self.write(name, text)
                os.chmod(path, 0o755)
                result = self.rdb_run([], [path], status=2)
                self.assertRegex(result.err, r"\Ardb: .*\n\Z")
        not_executable = self.write("script", "#!/bin/true\n")
        self.assertRegex(self.rdb_run([], [not_executable], status=2).err, r"\Ardb: .*\n\Z")


def add_tests():
    for way, status in WAYS.items():
        for engine in "fast", "step":
            def test(self, way=way, status=status, engine=engine):
                result = self.compare([harness.target("engine/crash"), way], engine)
                self.assertEqual(result.status, status)
            setattr(Deaths, f"test_{way.replace('-', '_')}_{engine}", test)


add_tests()

if __name__ == "__main__":
    harness.main()
