# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The system calls that change memory do the same natively, under rdb run, in a recording and in its replays."""
import os
import subprocess

import harness

PROGRAMS = ["memory/partial", "memory/grow", "memory/fork", "memory/kinds", "memory/contents", "memory/cut_off",
            "memory/shared_code", "memory/grows_down", "memory/views", "memory/others_write"]


class MemoryCalls(harness.TestCase):
    def cases(self, program):
        return self.run_program([harness.target(program), "list"], status=0).out.split()

    def check_alike(self, program, case):
        command = [harness.target(program), case]
        native = self.run_program(command)
        self.assertGreater(len(native.out), 1, f"\n{native}")
        live = self.rdb("run", *command)
        self.assertEqual((live.out, live.status), (native.out, native.status), f"\n{live}")
        trace = self.path(f"{program.replace('/', '-')}-{case}")
        recorded = self.rdb("record", "-q", "--checksum", "-o", trace, *command)
        self.assertEqual((recorded.out, recorded.status), (native.out, native.status), f"\n{recorded}")
        for _ in range(2):
            # Together the processes write again what they wrote, each with the ending that it had.
            lines = []
            for _, replayed in self.replay_processes(trace):
                lines += replayed.out.splitlines()
            self.assertEqual(sorted(lines), sorted(native.out.splitlines()))

    def test_all_cases(self):
        for program in PROGRAMS:
            for case in self.cases(program):
                with self.subTest(program=program, case=case):
                    self.check_alike(program, case)

    def test_a_sparse_terabyte_takes_no_room(self):
        trace = self.path("trace")
        self.rdb("record", "-q", "-o", trace, harness.target("memory/kinds"), "sparse", status=0)
        used = sum(os.stat(os.path.join(folder, name)).st_blocks * 512
                   for folder, _, names in os.walk(trace) for name in names)
        self.assertLess(used, 64 << 20)

    def test_checksums_of_a_sparse_terabyte(self):
        """Every call hashes all memory: what is not there is not looked at, or this would take hours."""
        command = [harness.target("memory/kinds"), "sparse_written"]
        native = self.run_program(command, status=0)
        for option in ("--checksum", "--checksum=calls"):
            trace = self.path("trace" + option)
            recorded = self.rdb("record", "-q", option, "-o", trace, *command, status=0)
            self.assertEqual(recorded.out, native.out)
            used = sum(os.stat(os.path.join(folder, name)).st_blocks * 512
                       for folder, _, names in os.walk(trace) for name in names)
            self.assertLess(used, 64 << 20)
            self.assertEqual(self.rdb("replay", trace, status=0).out, native.out)

    def test_gdbs_snapshots_have_mappings_of_their_own(self):
        """Going back lands in a copy of the replay, where what was written later must not show."""
        trace = self.path("trace")
        self.rdb("record", "-q", "-o", trace, harness.target("memory/views"), "pages_come_and_go", status=0)
        command = ["gdb", trace, "--", "-nx", "-batch"]
        for line in ["break say", "continue", "info registers rip", "reverse-stepi", "reverse-stepi", "stepi", "stepi",
                     "info registers rip", "delete", "continue"]:
            command += ["-ex", line]
        result = self.rdb(*command, status=0)
        places = [line for line in result.out.splitlines() if line.startswith("rip")]
        self.assertEqual(len(places), 2, f"\n{result}")
        self.assertEqual(places[0], places[1])

    def test_a_process_with_two_views_of_memory_that_forks_is_refused(self):
        script = ("import mmap, os\n"
                  "fd = os.memfd_create('object')\n"
                  "os.ftruncate(fd, 4096)\n"
                  "views = [mmap.mmap(fd, 4096) for _ in range(2)]\n"
                  "print('before', flush=True)\n"
                  "os.fork()\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "-o", trace, "/usr/bin/python3", "-c", script, status=125)
        self.assertRegex(recorded.err, "rdb: not supported: a process that forks and has /memfd:object .*mapped at several "
                                       "places, one of them writable\n")
        replayed = self.rdb("replay", trace, status=0)
        self.assertEqual(replayed.out, "before\n")
        self.assertRegex(replayed.err, "rdb: the recording ends at time [0-9]+: rdb could not record the process any further\n")
        self.assertRegex(self.rdb("info", trace, status=0).out, "ended +rdb failed: rdb could not go on: not supported: a "
                                                                "process that forks and has ")

    def test_a_part_of_shared_memory_that_grows_over_another_part_is_refused(self):
        script = ("import ctypes, mmap, os, sys\n"
                  "libc = ctypes.CDLL(None)\n"
                  "libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p\n"
                  "flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS\n"
                  "memory = libc.mmap(None, ctypes.c_size_t(5 * 4096), 3, flags, -1, ctypes.c_long(0))\n"
                  "part = memory + int(sys.argv[1]) * 4096\n"
                  "moved = libc.mremap(ctypes.c_void_p(part), ctypes.c_size_t(4096), ctypes.c_size_t(8192), 1)\n"
                  "ctypes.memset(moved, 7, 1)\n"
                  "os.write(1, ctypes.string_at(moved, 1).hex().encode())\n")
        command = ["/usr/bin/python3", "-c", script]
        alone = self.rdb("record", "-q", "-o", self.path("last"), *command, "4", status=0)  # nothing comes after it
        self.assertEqual(alone.out, "07")
        refused = self.rdb("record", "-q", "-o", self.path("third"), *command, "3", status=125)
        self.assertIn("rdb: not supported: two shared mappings of the same memory, one of them writable", refused.err)

    def test_a_call_that_makes_memory_grow_is_refused(self):
        result = self.rdb("record", "-q", "-o", self.path("trace"), harness.target("memory/grows_down"), "by_call",
                          status=125)
        self.assertIn("rdb: not supported: a system call that accesses memory in memory that would have to grow",
                      result.err)

    def test_a_sparse_file_is_packed_and_unpacked(self):
        trace = self.path("trace")
        recorded = self.rdb("record", "-q", "-o", trace, harness.target("memory/kinds"), "sparse_small", status=0)
        self.rdb("pack", trace, self.path("packed"), status=0)
        self.rdb("unpack", self.path("packed"), status=0)
        replayed = self.rdb("replay", os.path.join(self.path("traces"), "trace"), status=0)
        self.assertEqual(replayed.out, recorded.out)

    def test_memory_of_a_recorded_process_is_not_written_by_proc(self):
        """The change would not be in that process's recording."""
        script = ("import os\n"
                  "go, ready = os.pipe()\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    os.read(go, 1)\n"
                  "    os._exit(0)\n"
                  "try:\n"
                  "    open(f'/proc/{child}/mem', 'r+b', buffering=0)\n"
                  "except PermissionError as error:\n"
                  "    print('refused:', error.strerror)\n"
                  "print('read', len(open(f'/proc/{child}/mem', 'rb', buffering=0).name) > 0)\n"
                  "os.write(ready, b'x')\n"
                  "os.waitpid(child, 0)\n")
        for words in (["run"], ["record", "-q", "-o", self.path("trace")]):
            result = self.rdb(*words, "/usr/bin/python3", "-c", script, status=0)
            self.assertEqual(result.out, "refused: Permission denied\nread True\n", f"\n{result}")
            self.assertIn("rdb: not supported: opening /proc/PID/mem", result.err)
        self.assertEqual(self.rdb("replay", self.path("trace"), status=0).out, result.out)


class SharedWithOthers(harness.TestCase):
    """Memory that a program outside the recording writes to."""

    def record_while(self, reader, writer):
        """Records the reader, and starts the writer, which is not recorded, when the reader is ready. What the
        recorder says."""
        child = subprocess.Popen([harness.rdb(), "record", "-q", "-o", self.path("trace"), *reader], cwd=self.tmp,
                                 env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(child.stdout.readline(), "ready\n")
            self.run_program(writer, status=0)
            out, err = child.communicate(timeout=self.default_timeout)
        except BaseException:
            child.kill()
            child.communicate()
            raise
        self.assertEqual((out, child.returncode), ("got 42\n", 42), err)
        return err

    def check_replay(self, name):
        """It ends where the other program's value shows, by name and not as an error of rdb's."""
        for _ in range(2):
            result = self.rdb("replay", self.path("trace"), status=125)
            self.assertTrue(result.out.startswith("ready\n"), f"\n{result}")
            self.assertIn("rdb: not supported: memory shared with a program outside the recording: ", result.err)
            self.assertIn(name, result.err)
            self.assertNotIn("internal error", result.err)

    def test_a_file(self):
        program = harness.target("memory/outside")
        for name in (f"/dev/shm/rdb-test-{os.getpid()}", self.path("shared")):
            try:
                said = self.record_while([program, "read", name], [program, "write", name])
            finally:
                os.unlink(name)
            self.assertEqual(said.count(f"rdb: not recorded: what other programs write to {name}, which is mapped"), 1, said)
            self.check_replay(name)
            self.run_program(["/bin/rm", "-rf", self.path("trace")], status=0)

    def test_a_file_that_is_only_read(self):
        """It is written by a call, or by a mapping of the other program's."""
        program, name = harness.target("memory/outside"), self.path("looked at")
        for writer in ("call", "write"):
            with self.subTest(writer):
                self.write("looked at", "\0" * 4096)
                said = self.record_while([program, "look", name], [program, writer, name])
                self.assertEqual(said.count(f"rdb: not recorded: what other programs write to {name}, which is mapped"), 1, said)
                self.check_replay(name)
                self.assertIn("written outside the recording: ", self.rdb("dump", self.path("trace"), status=0).out)
                self.run_program(["/bin/rm", "-rf", self.path("trace")], status=0)

    def test_a_private_mapping_is_not_replayed_with_other_bytes(self):
        """Nothing is said of it, but what the program has printed is compared."""
        program, name = harness.target("memory/outside"), self.path("private")
        self.write("private", "\0" * 4096)
        self.record_while([program, "look-private", name], [program, "call", name])
        replayed = self.rdb("replay", self.path("trace"), status=125)
        self.assertTrue(replayed.out.startswith("ready\n"), f"\n{replayed}")
        self.assertNotIn("got", replayed.out)
        self.assertRegex(replayed.err, "the replay differs from the recording at time [0-9]+")

    def test_a_segment(self):
        program, key = harness.target("memory/outside"), str(0x52440000 + os.getpid() % 65536)
        try:
            said = self.record_while([program, "segment-read", key], [program, "segment-write", key])
        finally:
            self.run_program(["/usr/bin/ipcrm", "-M", key], status=0)
        self.assertIn("rdb: not recorded: what other programs write to /SYSV", said)
        self.check_replay("a System V segment")

    def test_one_that_was_there_before_is_named(self):
        """With its number, while the recorded program has only just mapped the file."""
        script = ("import mmap, os, sys\n"
                  "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
                  "os.ftruncate(fd, 4096)\n"
                  "memory = mmap.mmap(fd, 4096)\n"
                  "memory[0] = 42\n"
                  "print('ready', flush=True)\n"
                  "sys.stdin.read()\n")
        name = self.path("shared")
        other = subprocess.Popen(["/usr/bin/python3", "-c", script, name], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(other.stdout.readline(), "ready\n")
            result = self.rdb("record", "-q", "-o", self.path("trace"), harness.target("memory/outside"), "read", name,
                              status=42)
        finally:
            other.communicate("")
        self.assertIn(f"(process {other.pid} (python3) has it mapped)", result.err)
        # What was there before the mapping is in the recording.
        self.assertEqual(self.rdb("replay", self.path("trace"), status=42).out, "ready\ngot 42\n")

    def test_nothing_is_said_of_a_file_of_its_own(self):
        result = self.rdb("record", "-q", harness.target("record/mapped_files"), status=0)
        self.assertEqual(result.err, "")


if __name__ == "__main__":
    harness.main()
