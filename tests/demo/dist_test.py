# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/dist: the archive works where there is nothing else, on programs of another libc; the package is complete."""
import glob
import os
import subprocess

import harness

GUEST = harness.program_text(__file__, "dist.c")


class Dist(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([os.path.join(harness.SOURCE, "scripts", "dist"), "--no-build", harness.BUILD], check=True,
                       stdout=subprocess.DEVNULL, timeout=250)
        cls.archive, = glob.glob(os.path.join(harness.BUILD, "dist", "*.tar.xz"))
        cls.package, = glob.glob(os.path.join(harness.BUILD, "dist", "*.deb"))

    def in_empty_root(self, *words):
        """Runs a command where there is only the unpacked archive, /proc and the guest."""
        script = 'mount -t proc proc "$0/proc" && chroot "$0" "$@"; exit $?'
        user = [] if os.getuid() == 0 else ["--map-root-user"]
        return self.run_program(["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", *user, "/bin/sh", "-c",
                                 script, self.path("root"), *words],
                                env={"RDB_TRACE_DIR": "/traces"})

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("root/proc"))
        self.run_program(["/bin/tar", "-C", self.path("root"), "--strip-components=1", "-xf", self.archive], status=0)
        self.write("guest.c", GUEST)
        self.run_program(["/usr/bin/musl-gcc", "-static", "-g", "guest.c", "-o", self.path("root/guest")], status=0)

    def test_it_is_small(self):
        self.assertLess(os.path.getsize(self.archive), 20e6)

    def test_it_runs_records_and_replays_in_an_empty_root(self):
        self.assertEqual(self.in_empty_root("/bin/rdb", "--version").out, self.rdb("--version").out)
        run = self.in_empty_root("/bin/rdb", "run", "/guest")
        self.assertEqual((run.out, run.status), ("run 1\nrun 2\n", 139), run)
        recorded = self.in_empty_root("/bin/rdb", "record", "/guest", "once")
        self.assertEqual(recorded.out, "run 2\n", recorded)
        self.assertIn("SIGSEGV", recorded.err)
        replayed = self.in_empty_root("/bin/rdb", "replay")
        self.assertEqual((replayed.out, replayed.status), ("run 2\n", 139), replayed)
        self.assertRegex(replayed.err, r"#0 .* main at guest\.c:8")

    def test_it_finds_its_own_files_wherever_it_lies(self):
        os.rename(self.path("root/bin"), self.path("root/b"))
        os.makedirs(self.path("root/opt/x"))
        for name in "b", "lib", "share":
            os.rename(self.path(f"root/{name}"), self.path(f"root/opt/x/{'bin' if name == 'b' else name}"))
        os.symlink("opt/x/bin/rdb", self.path("root/r"))
        self.assertEqual(self.in_empty_root("/r", "run", "/guest", "once").out, "run 2\n")

    def test_the_package_has_its_files_and_names_what_it_needs(self):
        listed = self.run_program(["/usr/bin/dpkg-deb", "--contents", self.package], status=0).out
        for name in "./usr/bin/rdb\n", "./usr/share/man/man1/rdb-record.1.gz\n", "./usr/share/rdb/rdb-gdb.py\n":
            self.assertIn(name, listed)
        depends = self.run_program(["/usr/bin/dpkg-deb", "--field", self.package, "Depends"], status=0).out.strip().split(", ")
        for name in "libc6", "libstdc++6", "libdw1", "libzstd1":
            self.assertIn(name, depends)
        self.run_program(["/usr/bin/dpkg-query", "-W", *depends], status=0)


if __name__ == "__main__":
    harness.main()
