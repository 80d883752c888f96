# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guest's address space: addresses that cannot be given, reservations of terabytes, and where rdb itself lies. What a
program sees of that is what a native process has, whatever rdb was started with."""
import os

import harness

PROGRAM = "memory/addresses"
RANGES = {"0x555555556000": "0x555555554000-0x568000000000", "0x7ffff0000000": "0x7ef000000000-0x7ffffffff000",
          "0x60000000": "0x60000000-0x70000000", "0x70000000": "0x70000000-0x78000000",
          "0x7f000000": "0x7e000000-0x7fc00000"}
# What a program sees of the place, the limits and the environment that it was started with.
LOOK = r"""
import ctypes, os, resource
print("personality", ctypes.CDLL(None).personality(ctypes.c_ulong(0xffffffff)))
for name in sorted(name for name in dir(resource) if name.startswith("RLIMIT_")):
    print(name, resource.getrlimit(getattr(resource, name)))
print(sorted(os.environb.items()))
print(open("/proc/self/limits").read(), open("/proc/self/personality").read())
print([line for line in open("/proc/self/maps") if "rdb" in line.split("/")[-1].split("-")])
"""
# Goes on without the call personality, which gets EPERM.
REFUSE = r"""
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 135), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("@HxxxxxxQ", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
STARTED_AGAIN = "RDB_STARTED_AGAIN"


class Addresses(harness.TestCase):
    def check(self, case, expected=None):
        command = [harness.target(PROGRAM), case]
        expected = expected or self.run_program(command, status=0).out
        self.assertEqual(self.rdb("run", *command, status=0).out, expected)
        for option in ("--checksum=calls", "--chaos"):
            trace = self.path(case + option)
            self.assertEqual(self.rdb("record", "-q", option, "-o", trace, *command, status=0).out, expected)
            # Together the processes write what they wrote.
            replayed = "".join(result.out for _, result in self.replay_processes(trace))
            self.assertEqual(sorted(replayed.splitlines()), sorted(expected.splitlines()))

    def test_hints_give_another_place(self):
        self.check("hints", "".join(f"{i}: elsewhere\n" for i in range(5)))

    def test_fixed_without_replacing_finds_the_place_taken(self):
        self.check("no_replace", "".join(f"{i}: EEXIST\n" for i in range(5)))

    def test_calls_as_natively(self):
        for case in ("unmap_across", "other_calls", "grow_break"):
            with self.subTest(case=case):
                self.check(case)

    def test_terabytes_that_nobody_wrote_to(self):
        """Each call hashes all memory: if it looked at what is not there, this would take days."""
        for case in ("reserved", "reserved_writable", "reserved_and_forked"):
            with self.subTest(case=case):
                self.check(case)

    def test_terabytes_in_gdb(self):
        """Snapshots are taken and gone back to."""
        trace = self.path("trace")
        self.rdb("record", "-q", "-o", trace, harness.target(PROGRAM), "reserved_writable", status=0)
        commands = ["break reserve", "continue", "tbreak look", "continue", "reverse-stepi", "reverse-stepi", "stepi", "stepi",
                    "print (void *) $pc", "watch terabytes[7]", "reverse-continue", "info locals", "reverse-continue"]
        words = [word for command in commands for word in ("-ex", command)]
        out = self.rdb("gdb", trace, "--", "-batch", *words, status=0).out
        self.assertRegex(out, r"(?s)Temporary breakpoint 2, look .*\$1 = \(void \*\) 0x[0-9a-f]+ <look.*watchpoint 3.*"
                              r"i = 7.*Breakpoint 1, reserve ")

    def test_fixed_addresses_that_cannot_be_given(self):
        for how in ("fixed", "across", "moved", "attached"):
            for asked, range_ in RANGES.items():
                if how == "across" and asked != "0x555555556000":
                    continue  # it would begin or end where no program has memory
                with self.subTest(how=how, address=asked):
                    trace = self.path(f"{how}-{asked}")
                    for command in (["run"], ["record", "-q", "-o", trace]):
                        result = self.rdb(*command, harness.target(PROGRAM), how, asked, status=125)
                        self.assertEqual(result.out, "")
                        self.assertRegex(result.err, r"rdb: not supported: the program asks for memory at the fixed addresses "
                                                     rf"0x[0-9a-f]+-0x[0-9a-f]+, and rdb itself needs {range_}")
                    self.assertEqual(self.rdb("replay", trace).out, "")


class Place(harness.TestCase):
    """How rdb finds out where it lies, or makes it so."""

    def look(self, *before, env=None, room=True):
        """What a program sees that is started by these words, natively and under rdb, live and replayed."""
        self.write("look.py", LOOK)
        program = ["/usr/bin/python3", "-S", self.path("look.py")]
        native = self.run_program([*before, *program], env=env, status=0)
        rdb = [*before, harness.rdb()]
        live = self.run_program([*rdb, "run", *program], env=env, status=0)
        self.assertEqual((live.out, live.err), (native.out, native.err))
        trace = self.path("trace%d" % len(os.listdir(self.tmp)))
        recorded = self.run_program([*rdb, "record", "-q", "-o", trace, *program], env=env, status=0)
        self.assertEqual((recorded.out, recorded.err), (native.out, native.err))
        # Started in another way, it is replayed as well.
        for words in (rdb, [harness.rdb()]):
            replayed = self.run_program([*words, "replay", trace], env=env, status=0)
            self.assertEqual((replayed.out, replayed.err), (native.out, native.err))
        if not room:
            return native.out
        # Fixed addresses of those that sanitizers need.
        self.run_program([*rdb, "run", harness.target(PROGRAM), "fixed", "0x7fff8000"], status=0)
        self.run_program([*rdb, "run", harness.target(PROGRAM), "fixed", "0x7e8000000000"], status=0)
        return native.out

    def test_as_usual(self):
        self.assertIn("\npersonality 0\n", "\n" + self.look())

    def test_unlimited_stack(self):
        self.assertIn("RLIMIT_STACK (-1, -1)", self.look("/usr/bin/prlimit", "--stack=unlimited"))

    def test_other_stacks(self):
        self.look("/usr/bin/prlimit", f"--stack={1 << 36}:unlimited")
        self.look("/usr/bin/prlimit", f"--stack={1 << 20}:{1 << 30}")

    def test_legacy_layout(self):
        self.assertIn("personality 2097152", self.look("/usr/bin/setarch", "-L"))

    def test_without_random_addresses(self):
        self.assertIn("personality 262144", self.look("/usr/bin/setarch", "-R"))

    def test_both(self):
        self.look("/usr/bin/prlimit", "--stack=unlimited", "/usr/bin/setarch", "-L", "-R")

    def test_what_another_sets_in_the_environment(self):
        """Only what rdb itself has set counts, and a program sees what its user has set."""
        for text in ("", "0", "262144 1 1", "4294967295 0 0", "hello", "2097152 8388608 8388608", "-1 -1 -1"):
            with self.subTest(text=text):
                self.assertIn(STARTED_AGAIN, self.look(env={STARTED_AGAIN: text}))
                self.look("/usr/bin/prlimit", "--stack=unlimited", env={STARTED_AGAIN: text})

    def test_a_personality_that_cannot_be_changed(self):
        """rdb lowers the limit of the stack alone, or stays where it is; programs have less room then."""
        self.write("refuse.py", REFUSE)
        refuse = ["/usr/bin/python3", "-S", self.path("refuse.py")]
        # Whether there is room then depends on vm.mmap_rnd_bits.
        self.look(*refuse, room=False)
        self.assertIn("RLIMIT_STACK (-1, -1)", self.look("/usr/bin/prlimit", "--stack=unlimited", *refuse, room=False))
        legacy = ["/usr/bin/setarch", "-L", *refuse]
        self.assertIn("Max cpu time", self.look(*legacy, room=False))
        result = self.run_program([*legacy, harness.rdb(), "run", harness.target(PROGRAM), "fixed", "0x7e8000000000"], status=125)
        self.assertRegex(result.err, "asks for memory at the fixed addresses 0x7e8000000000-0x7e8000001000, and rdb itself needs 0x[12]")
        self.run_program([*legacy, harness.rdb(), "run", harness.target(PROGRAM), "fixed", "0x7fff8000"], status=0)

    def test_as_an_ordinary_user(self):
        if os.getuid() == 0:
            os.chown(self.tmp, 65534, 65534)
        user = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
        self.look(*user)
        self.look(*user, "/usr/bin/prlimit", "--stack=unlimited")

    def test_rdb_in_rdb(self):
        """That is refused by name."""
        for before in ([], ["/usr/bin/prlimit", "--stack=unlimited"]):
            result = self.run_program([*before, harness.rdb(), "run", harness.rdb(), "run", "/usr/bin/true"], status=125)
            self.assertIn("rdb cannot run under rdb", result.err)


if __name__ == "__main__":
    harness.main()
