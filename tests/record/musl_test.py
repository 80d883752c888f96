# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs built with musl, static and dynamic: the same natively, live, recorded and replayed."""
import os
import shutil

import harness

SOURCES = os.path.join(harness.SOURCE, "tests", "targets")


class Musl(harness.TestCase):
    def setUp(self):
        super().setUp()
        if shutil.which("musl-gcc", path="/usr/local/bin:/usr/bin") is None:
            self.skipTest("musl-gcc is not installed: scripts/deps")

    def check(self, name, arguments, *flags):
        built = self.path(os.path.basename(name))
        self.run_program(["/usr/bin/musl-gcc", "-O1", "-g", *flags, os.path.join(SOURCES, name + ".c"), "-o", built],
                         status=0)
        native = self.run_program([built, *arguments])
        live = self.run_program([harness.rdb(), "run", built, *arguments])
        recorded = self.rdb("record", "-q", "--checksum", "-o", self.path("trace"), "--", built, *arguments)
        replayed = self.rdb("replay", "--no-module", self.path("trace"))
        self.assertEqual((live.status, recorded.status, replayed.status), (native.status,) * 3, f"\n{live}\n{recorded}")
        self.assertEqual(replayed.out, recorded.out)
        shutil.rmtree(self.path("trace"))
        return native.out, live.out, recorded.out

    def test_signals(self):
        for flags in ([], ["-static"]):
            with self.subTest(flags):
                native, live, recorded = self.check("world/sent_faults", [], *flags)
                self.assertEqual((live, recorded), (native, native))

    def test_threads(self):
        for flags in ([], ["-static"]):
            for case in ("many", "detached", "chain", "exit_in_thread"):
                with self.subTest((flags, case)):
                    native, live, recorded = self.check("threads/lifetime", [case], *flags)
                    self.assertEqual((live, recorded), (native, native))

    def test_lock_free(self):
        self.check("threads/queue", [])


if __name__ == "__main__":
    harness.main()
