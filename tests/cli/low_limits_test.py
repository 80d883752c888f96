# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Another heap in LD_PRELOAD, low resource limits, no /proc, programs that are cut off, a disk that is full at once."""
import os
import shutil
import struct
import subprocess
import unittest

import harness

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
UNSHARE = "/usr/bin/unshare"
# What the dynamic linker says if not even rdb can be loaded; which of them depends on how large its parts are.
LINKER = "error while loading shared libraries|cannot allocate TLS data structures for initial thread"

# Takes no memory back that it has not given.
STRICT_HEAP = harness.program_text(__file__, "low_limits/strict_heap.c")

# No library, a bss that begins in the last page of data.
TINY = harness.program_text(__file__, "low_limits/tiny.c")


BIG = "static char big[1L << 30]; int main(void) { return big[1]; }\n"


# Becomes the program, cut off at each of the lengths, and tells what came of it.
EXECVE = """
import os, signal
with open("{program}", "rb") as file:
    whole = file.read()
for length in {lengths}:
    with open("cut", "wb") as file:
        file.write(whole[:length])
    os.chmod("cut", 0o755)
    child = os.fork()
    if child == 0:
        try:
            os.execv("./cut", ["./cut"])
        except OSError as error:
            os.write(1, b"%d error %d\\n" % (length, error.errno))
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(1, b"%d ended %d\\n" % (length, status))
    os.unlink("cut")
"""


def can(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


CAN_MOUNT = can(UNSHARE, "-rm", "/bin/mount", "-t", "tmpfs", "none", "/mnt")


class OtherHeaps(harness.TestCase):
    def check_heap(self, library):
        preload = {"LD_PRELOAD": library}
        shown = 'echo "$LD_PRELOAD"; grep -c "$LD_PRELOAD" /proc/self/maps >/dev/null && echo mapped; exit 4'
        for command in (("run",), ("record", "-q", "-o", "t")):
            result = self.rdb(*command, "/bin/sh", "-c", shown, env=preload, status=4)
            self.assertEqual(result.out, f"{library}\nmapped\n")  # it is the program's
            self.assertEqual(result.err, "")
        self.assertEqual(self.rdb("replay", "t", env=preload, status=4).out, f"{library}\nmapped\n")
        for command in (("info", "t"), ("dump", "t"), ("ps", "t"), ("ls",), ("pack", "t", "t.tar.zst"), ("rm", "t"),
                        ("unpack", "t.tar.zst")):
            self.assertEqual(self.rdb(*command, env=preload, status=0).err, "")

    def test_jemalloc(self):
        self.check_heap(JEMALLOC)

    def test_a_heap_that_checks_what_it_gets(self):
        self.run_program(["/usr/bin/gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", "strict.so",
                          self.write("strict.c", STRICT_HEAP)], status=0)
        self.check_heap(self.path("strict.so"))

    @harness.needs_compiler
    def test_debug_code(self):
        self.write("region.cc", harness.program_text(__file__, "low_limits/region.cc"))
        self.run_program([harness.program("rdb-clang++"), "-g", "-O0", "-o", "region", "region.cc"], status=0)
        self.rdb("record", "-q", "-o", "t", "./region", status=4)
        self.assertEqual(self.rdb("replay", "t", env={"LD_PRELOAD": JEMALLOC}, status=4).out, "100\n")


class Limits(harness.TestCase):
    def limited(self, limit, *words, before=()):
        script = f'ulimit {limit} && exec "$@"'
        return self.run_program([*before, "/bin/bash", "-c", script, "bash", harness.rdb(), *words])

    def works_or_says(self, limit, pattern, before=()):
        """The program is run as natively, or one line says what is wrong."""
        option = limit.split()[-2]
        native = self.run_program(["/bin/bash", "-c", f"ulimit {limit}; exec /bin/sh -c 'ulimit -S {option}; exit 4'"]).out
        for command in (("run",), ("record", "-q", "-o", "t")):
            shutil.rmtree(self.path("t"), ignore_errors=True)
            result = self.limited(limit, *command, "/bin/sh", "-c", f"ulimit -S {option}; exit 4", before=before)
            if result.status == 4:
                self.assertEqual((result.out, result.err), (native, ""), f"\n{result}")
                if command[0] == "record":
                    replayed = self.limited(limit, "replay", "t", before=before)
                    if replayed.status == 4:
                        self.assertEqual(replayed.out, native)
                    else:
                        self.assertRegex(replayed.err, rf"\Ardb: [^\n]*({pattern})[^\n]*\n\Z", f"\n{replayed}")
            else:
                self.assertIn(result.status, (2, 125, 127), f"\n{result}")
                self.assertRegex(result.err, r"\A[^\n]*\n(rdb: the recording ended early: [^\n]*\n)?\Z", f"\n{result}")
                self.assertRegex(result.err, pattern, f"\n{result}")

    def test_a_small_stack(self):
        for limit in ("-s 64", "-S -s 64", "-s 1000"):
            with self.subTest(limit):
                self.works_or_says(limit, "rdb: the limit of the stack's size is too low .*ulimit -s")

    def test_a_soft_limit_of_the_stack_is_no_limit_for_rdb(self):
        result = self.limited("-S -s 100", "run", "/bin/sh", "-c", "ulimit -S -s; exit 4")
        self.assertEqual((result.status, result.out, result.err), (4, "100\n", ""), f"\n{result}")

    @unittest.skipUnless(can(UNSHARE, "-r", "/bin/true"), "no user namespaces here")
    def test_without_privileges(self):
        before = (UNSHARE, "-r")
        for limit in ("-s 64", "-d 1000", "-d 2000", "-n 64", "-v 100000"):
            with self.subTest(limit):
                self.works_or_says(limit,
                                   r"(rdb: (the limit of the stack's size is too low|(not supported: )?there is not enough "
                                   r"memory|"
                                   r"not supported: cannot map the code cache)|" + LINKER + ")", before)

    def test_little_data(self):
        for limit in ("-d 1000", "-S -d 1000"):
            with self.subTest(limit):
                self.works_or_says(limit, "not enough memory|cannot map the code cache|" + LINKER)

    def test_little_data_for_commands_that_read_a_trace(self):
        self.rdb("record", "-q", "-o", "t", "/bin/true", status=0)
        for limit in ("-d 1000", "-d 1100", "-d 1500", "-d 2500"):
            for command in (("replay", "t"), ("pack", "t", "t.zst"), ("info", "t")):
                with self.subTest(limit, command=command):
                    result = self.limited(limit, *command)
                    self.assertNotRegex(result.err, "internal error|holds no process|bad_alloc")
                    self.assertIn(result.status, (0, 2, 125, 127), f"\n{result}")

    def test_small_files(self):
        self.rdb("record", "-q", "-o", "t", "/bin/true", status=0)
        result = self.limited("-f 1", "replay", "t")
        self.assertEqual((result.status, result.err), (125, "rdb: no file in memory can be made: File too large\n"))

    def test_nothing_is_left_of_a_recording_that_could_not_begin(self):
        for limit in (*(f"-n {count}" for count in range(4, 13)), "-d 1000"):
            for where in (["-o", "t"], []):
                with self.subTest(limit, where=where):
                    result = self.limited(limit, "record", *where, "/bin/true")
                    self.assertNotEqual(result.err, "", f"\n{result}")
                    if result.status != 0:
                        self.assertFalse(os.path.exists(self.path("t")), f"\n{result}")
                        self.assertFalse(os.path.exists(self.path("traces")) and os.listdir(self.path("traces")), f"\n{result}")
                    shutil.rmtree(self.path("t"), ignore_errors=True)
                    shutil.rmtree(self.path("traces"), ignore_errors=True)

    def test_few_descriptors(self):
        for limit in ("-n 64", "-n 20", "-S -n 10"):
            with self.subTest(limit):
                self.works_or_says(limit, "descriptors|Too many open files|" + LINKER)


@unittest.skipUnless(CAN_MOUNT, "mounting in a namespace is not permitted here")
class Mounts(harness.TestCase):
    def inside(self, script):
        """Runs a script in a mount namespace of its own; standard output is a line for each `say WORD`."""
        return self.run_program([UNSHARE, "-rm", "/bin/sh", "-c", f"RDB={harness.rdb()}; {script}"])

    def test_no_proc(self):
        self.rdb("record", "-q", "-o", "t", "/bin/echo", "hello", status=0)
        for command in ("run /bin/true", "record -o t2 /bin/true", "replay t", "gdb t", "history x t --at f.c:1",
                        "print t @main x"):
            result = self.inside(f"mount -t tmpfs none /proc && exec $RDB {command}")
            self.assertEqual(result.status, 2, f"\n{result}")
            self.assertRegex(result.err, r"\Ardb: (print: )?/proc is not mounted here, and rdb needs it [^\n]*\n\Z")
        self.assertFalse(os.path.exists(self.path("t2")))
        for command in ("ls", "info t", "ps t", "dump t", "help"):
            self.assertEqual(self.inside(f"mount -t tmpfs none /proc && exec $RDB {command}").status, 0)

    def test_a_disk_that_is_full_at_the_start(self):
        for size in ("4k", "8k", "64k", "132k"):
            for where in ("", "-o small/t"):
                with self.subTest(size=size, where=where):
                    os.makedirs(self.path("small"), exist_ok=True)
                    result = self.inside(f"mount -t tmpfs -o size={size} none small || exit 99\n"
                                         f"export RDB_TRACE_DIR=$PWD/small/traces\n"
                                         f"$RDB record {where} /bin/true; echo status $?; find small/t small/traces; $RDB ls; "
                                         f"$RDB info ./small/t; $RDB rm true-0 || $RDB rm ./small/t; echo removed $?; find "
                                         f"small/t small/traces/true-0")
                    self.assertRegex(result.err, "No space left")
                    # There is no room for the trace, or for what the program is made of: nothing is left of it.
                    self.assertIn(f"status {125 if size == '132k' else 2}\n", result.out, f"\n{result}")
                    self.assertNotIn("/true-0", result.out)
                    self.assertNotIn("small/t\n", result.out)
                    self.assertIn("no recordings", result.out)
                    self.assertIn("removed 2\n", result.out)


class CutOffPrograms(harness.TestCase):
    def test_every_length(self):
        self.run_program(["/usr/bin/gcc", "-O1", "-static", "-nostdlib", "-fno-stack-protector", "-Wl,-z,noseparate-code",
                          "-Wl,--build-id=none", "-s", "-o", "tiny", self.write("tiny.c", TINY)], status=0)
        self.check("tiny", 331)

    def test_a_program_with_libraries(self):
        self.run_program(["/bin/cp", "/bin/true", "true"], status=0)
        self.check("true", 2503)

    def check(self, program, step):
        with open(self.path(program), "rb") as file:
            whole = file.read()
        lengths = {*range(0, len(whole), step), *range(56, 72), *range(118, 124), len(whole) - 1, len(whole)}
        for page in range(4096, len(whole), 4096):
            lengths |= {page - 1, page, page + 1}
        for length in sorted(one for one in lengths if one <= len(whole)):
            with self.subTest(length=length):
                with open(self.path("cut"), "wb") as file:
                    file.write(whole[:length])
                os.chmod(self.path("cut"), 0o755)
                try:
                    native = subprocess.run([self.path("cut")], check=False).returncode
                except OSError:
                    native = 2  # what cannot be started is refused
                for command in (("run",), ("record", "-q", "-o", self.path("t"))):
                    result = self.rdb(*command, self.path("cut"))
                    self.assertEqual(result.status, native, f"\n{result}")
                    self.assertNotIn("internal error", result.err)
                    if native == 2:
                        self.assertRegex(result.err, r"\Ardb: [^\n]*\n\Z")
                if os.path.exists(self.path("t")):
                    self.assertNotEqual(native, 2)
                    self.rdb("replay", "t", status=native)
                    self.rdb("rm", "./t", status=0)


    def test_execve(self):
        """The same in a recording, where a program becomes one that is cut off: the error, or the death, is the kernel's."""
        self.run_program(["/usr/bin/gcc", "-O1", "-static", "-nostdlib", "-fno-stack-protector", "-Wl,--build-id=none", "-s",
                          "-o", "tiny", self.write("tiny.c", TINY)], status=0)
        for program in "tiny", "/bin/true":
            size = os.path.getsize(self.path(program))
            with open(self.path(program), "rb") as file:
                table = 64 + 56 * int.from_bytes(file.read(64)[56:58], "little")
            lengths = {0, 1, 2, 3, 4, 5, *range(60, 68), *range(64, table + 120, 28), table - 1, table, table + 1, size - 1, size}
            for page in range(4096, size, 4096):
                lengths |= {page - 1, page, page + 1, page + 2000}
            script = self.write("each.py",
                                EXECVE.format(program=self.path(program), lengths=sorted(n for n in lengths if n <= size)))
            native = self.run_program(["/usr/bin/python3", script], status=0)
            self.assertGreater(len(set(line.split(" ", 1)[1] for line in native.out.splitlines())), 2, native.out)
            recorded = self.rdb("record", "-q", "-o", "t", "/usr/bin/python3", script, status=0)
            self.assertEqual(recorded.out, native.out)
            own = "".join(line for line in native.out.splitlines(True) if "ended" in line)  # without its children's
            self.assertEqual(self.rdb("replay", "t", status=0).out, own)
            # The children, too: each as it ended.
            ends = [int(line.split()[2]) for line in native.out.splitlines() if "ended" in line]
            replayed = [result.status for _, result in self.replay_processes("t")]
            followed = [ending for _, ending in self.processes("t") if ending == "exec"]
            self.assertEqual(sorted(status for status in replayed if status != 0), sorted(end for end in ends if end != 0))
            self.assertEqual(len(replayed), 1 + len(ends) + len(followed))
            self.rdb("rm", "./t", status=0)

    def test_a_death_before_the_first_instruction(self):
        """The kernel has let go of the old program, and can only kill the new one."""
        with open("/bin/true", "rb") as file:
            whole = file.read()
        # The page in which the data ends and the bss begins is not there.
        with open(self.path("cut"), "wb") as file:
            file.write(whole[:self.end_of_data("/bin/true") & ~4095])
        os.chmod(self.path("cut"), 0o755)
        self.run_program(["/bin/sh", "-c", "exec ./cut"], status=-11)
        recorded = self.rdb("record", "-o", "t", "/bin/sh", "-c", "exec ./cut", status=-11)
        self.assertIn("rdb: ./cut: the file is cut off: it is killed before its first instruction\n", recorded.err)
        self.assertIn(" instructions of 2 programs, SIGSEGV, ", recorded.err)
        self.assertEqual([ending for _, ending in self.processes("t")], ["exec", "SIGSEGV"])
        for _ in range(3):
            replayed = self.rdb("replay", "t", status=-11)
            self.assertEqual(replayed.err, "rdb: the program could not be loaded: SIGSEGV before its first instruction\n")
        self.assertIn("signal 11 ended the program", self.rdb("gdb", "t", "--", "-nx", "-batch", "-ex", "when-end", status=0).out)
        for command in "info", "dump":
            self.assertIn("SIGSEGV", self.rdb(command, "t", status=0).out)
        # As a child of another one.
        self.rdb("record", "-o", "t2", "/bin/sh", "-c", "./cut; echo $?", status=0)
        self.assertEqual([ending for _, ending in self.processes("t2")], ["exit 0", "exec", "SIGSEGV"])
        self.assertEqual([result.out for _, result in self.replay_processes("t2")], ["139\n", "", ""])

    def end_of_data(self, program):
        with open(program, "rb") as file:
            header = file.read(64)
            file.seek(int.from_bytes(header[32:40], "little"))
            segments = [struct.unpack("<IIQQQQQQ", file.read(56)) for _ in range(header[56])]
        return max(offset + size for kind, flags, offset, _, _, size, *_ in segments if kind == 1 and flags & 2)

    def test_a_program_that_rdb_cannot_load(self):
        """In a recording, after execve: what the recording says is that it ends there, and why."""
        self.run_program(["/usr/bin/gcc", "-o", "big", self.write("big.c", BIG)], status=0)
        recorded = self.rdb("record", "-o", "t", "/bin/sh", "-c", "exec ./big", status=125)
        self.assertIn("rdb: the recording ended early: rdb could not go on: not supported: ./big: larger than 768 MiB; ",
                      recorded.err)
        self.assertEqual([ending for _, ending in self.processes("t")], ["exec", "cut off"])
        self.assertIn("could not record the process any further", self.rdb("replay", "t").err)
        recorded = self.rdb("record", "-o", "t2", "/bin/sh", "-c", "./big; echo $?", status=0)
        self.assertEqual(recorded.out, "125\n")
        self.assertIn("was cut off; 'rdb info' says why", recorded.err)


class ProgramsThatDoNotStart(harness.TestCase):
    def test_nothing_is_left_of_them(self):
        self.rdb("record", "-q", "/bin/true", status=0)
        with open("/bin/true", "rb") as file:
            whole = file.read()
        with open(self.path("cut"), "wb") as file:
            file.write(whole[:200])
        self.write("text", "hello\n")
        self.write("script", "#!/no/such/interpreter\n")
        self.write("loop", "#!" + self.path("loop") + "\n")
        self.write("empty", "")
        self.write("plain", "#!/bin/sh\n")
        for name in "cut", "text", "script", "loop", "empty":
            os.chmod(self.path(name), 0o755)
        self.run_program(["/usr/bin/gcc", "-Wl,--dynamic-linker=/no/such/loader", "-o", "loader",
                          self.write("loader.c", "int main(void) {}")],
                         status=0)
        self.run_program(["/usr/bin/gcc", "-o", "large", self.write("large.c", "char all[1 << 30]; int main(void) {}")], status=0)
        for name, status in (("cut", 2), ("text", 2), ("script", 2), ("loop", 2), ("empty", 2), ("plain", 2), ("loader", 2),
                             ("missing", 2), (".", 2), ("large", 125)):
            for options in ([], ["-o", "t"], ["--until-fail", "-n", "2"]):
                with self.subTest(name, options=options):
                    result = self.rdb("record", *options, "./" + name, status=status)
                    self.assertRegex(result.err, r"\Ardb: [^\n]*\n\Z")
                    self.assertFalse(os.path.exists(self.path("t")))
                    self.assertEqual(len(self.rdb("ls", status=0).out.splitlines()), 2)
                    self.assertIn("/bin/true", self.rdb("info", status=0).out)

    def test_too_little_memory(self):
        self.rdb("record", "-q", "/bin/true", status=0)
        result = self.run_program(["/bin/sh", "-c", "ulimit -v 200000; exec $RDB record /bin/true"], env={"RDB": harness.rdb()})
        self.assertNotEqual(result.status, 0)
        self.assertRegex(result.err, r"\Ardb: [^\n]*\n\Z")
        self.assertEqual(len(self.rdb("ls", status=0).out.splitlines()), 2)


if __name__ == "__main__":
    harness.main()
