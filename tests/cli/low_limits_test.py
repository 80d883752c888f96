# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Another heap in LD_PRELOAD, low resource limits, no /proc, programs that are cut off, a disk that is full at once."""
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness

JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
UNSHARE = "/usr/bin/unshare"

# Takes no memory back that it has not given.
STRICT_HEAP = r"""
#include <stddef.h>
#include <string.h>
static char heap[1 << 24];
static size_t used;
static const char kMark[16] = "strict heap 15b";
void* malloc(size_t size) {
  size_t room = (size + 15) / 16 * 16;
  if (used + room + 32 > sizeof heap) return 0;
  char* block = heap + used + 32;
  memcpy(block - 16, kMark, 16);
  memcpy(block - 32, &size, sizeof size);
  used += room + 32;
  return block;
}
static void check(void* block) {
  if (memcmp((char*)block - 16, kMark, 16) != 0) __builtin_trap();
}
void free(void* block) {
  if (block) check(block);
}
void* calloc(size_t count, size_t size) { return malloc(count * size); }
void* realloc(void* block, size_t size) {
  void* fresh = malloc(size);
  if (!block || !fresh) return fresh;
  check(block);
  size_t old;
  memcpy(&old, (char*)block - 32, sizeof old);
  return memcpy(fresh, block, old < size ? old : size);
}
"""

# No library, a bss that begins in the last page of data.
TINY = r"""
static char data[5000] = "data";
static char bss[9000];
void _start(void) {
  bss[8999] = data[4999];
  asm volatile("syscall" : : "a"(60), "D"(bss[8999] == 0 ? 5 : 6) : "rcx", "r11", "memory");
  __builtin_unreachable();
}
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
        self.write("region.cc", "#include <rdb/rdb.h>\n#include <iostream>\n#include <string>\n#include <vector>\n"
                   "int main() {\n  std::string name(100, 'x');\n"
                   "rdb_begin\n  std::vector<std::string> copies(3, name);\n"
                   "  std::cout << copies.back().size() << std::endl;\nrdb_end\n"
                   "  return static_cast<int>(name.size()) == 100 ? 4 : 0;\n}\n")
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
                self.works_or_says(limit, r"(rdb: (the limit of the stack's size is too low|there is not enough memory|"
                                   r"not supported: cannot map the code cache)|"
                                   r"error while loading shared libraries)", before)

    def test_little_data(self):
        for limit in ("-d 1000", "-S -d 1000"):
            with self.subTest(limit):
                self.works_or_says(limit, "not enough memory|cannot map the code cache|error while loading shared libraries")

    def test_few_descriptors(self):
        for limit in ("-n 64", "-n 20", "-S -n 10"):
            with self.subTest(limit):
                self.works_or_says(limit, "descriptors|Too many open files|error while loading shared libraries")


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
                                         f"$RDB info ./small/t; $RDB rm true-0 || $RDB rm ./small/t; echo removed $?; find small/t small/traces/true-0")
                    self.assertRegex(result.err, "No space left")
                    if "status 2\n" in result.out:  # nothing is left
                        self.assertNotIn("/true-0", result.out)
                        self.assertNotIn("small/t\n", result.out)
                        self.assertIn("no recordings", result.out)
                    else:  # it begins, and is shown
                        self.assertEqual(size, "132k")
                        self.assertIn("status 125\n", result.out, f"\n{result}")
                        self.assertIn("disk full", result.out)
                    self.assertIn("removed 0\n" if "disk full" in result.out else "removed 2\n", result.out)


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
                    if "holds no process" not in self.rdb("replay", "t").err:
                        self.rdb("replay", "t", status=native)
                    self.rdb("rm", "./t", status=0)


if __name__ == "__main__":
    harness.main()
