# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that recorded processes share: what they do there is in the log of each, and what cannot be is refused by
name. More of it in tests/targets/world/shared*.c."""
import os
import signal
import subprocess

import harness


class SharedMemory(harness.TestCase):
    def test_memory_that_processes_share(self):
        script = ("import multiprocessing as m\n"
                  "def add(value, lock):\n"
                  "    for _ in range(100):\n"
                  "        with lock: value.value += 1\n"
                  "value, lock = m.Value('i', 0), m.Lock()\n"
                  "children = [m.Process(target=add, args=(value, lock)) for _ in range(3)]\n"
                  "for child in children: child.start()\n"
                  "for child in children: child.join()\n"
                  "print(value.value, flush=True)\n"
                  "with m.Pool(2) as pool: print(sum(pool.map(abs, range(100))), flush=True)\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "--checksum", "-o", trace, "/usr/bin/python3", "-c", script, status=0)
        self.assertEqual(recorded.out, "300\n4950\n")
        self.assertEqual(self.rdb("replay", trace, status=0).out, recorded.out)
        self.replay_processes(trace)

    def test_memory_that_is_used_in_all_ways_at_once(self):
        for seed in range(3):
            trace = self.path(f"trace-{seed}")
            recorded = self.rdb("record", "-q", "--checksum", "-o", trace, harness.target("record/shared_stress"), str(seed),
                                status=0)
            self.assertEqual(recorded.out, "end\n", f"\n{recorded}")
            self.replay_processes(trace)

    def test_instructions_that_wait_for_memory_in_the_middle(self):
        trace = self.path("trace")
        recorded = self.rdb("record", "-q", "--checksum=calls", "-o", trace, harness.target("record/shared_middle"), status=0)
        self.assertEqual(self.rdb("replay", trace, status=0).out, recorded.out)
        self.assertRegex(recorded.out, r"^sums \d+ \d+, alarms \d+, in the middle 0\n$")

    def test_processes_that_wait_for_each_others_shared_memory(self):
        recorded = self.rdb("record", "-o", self.path("trace"), harness.target("record/copies"), status=125)
        self.assertRegex(recorded.err, r"rdb: not supported: memory shared by recorded processes: \d+ and \d+, which copy from "
                                       r"page to page with one instruction, wait for each other at 0x\w+\n")
        self.assertEqual(self.rdb("replay", self.path("trace"), status=0).out, "before\n")

    def test_a_call_that_reads_shared_memory_lets_other_threads_run(self):
        script = ("import mmap, os, socket, threading\n"
                  "size = 1 << 20\n"
                  "shared = mmap.mmap(-1, size)\n"
                  "if os.fork() == 0:\n"
                  "    shared[0] = 7\n"
                  "    os._exit(0)\n"
                  "os.wait()\n"
                  "reader, writer = os.pipe()\n"
                  "one, other = socket.socketpair()\n"
                  "def ways():\n"
                  "    os.write(writer, shared)\n"
                  "    os.writev(writer, [b'x', shared])\n"
                  "    one.send(shared)\n"
                  "    one.sendmsg([b'x', shared])\n"
                  "thread = threading.Thread(target=ways)\n"
                  "thread.start()\n"
                  "for fd, want in ((reader, 2 * size + 1), (other.fileno(), 2 * size + 1)):\n"
                  "    data = b''\n"
                  "    while len(data) < want: data += os.read(fd, size)\n"
                  "    print(len(data), data[0], data[size], data[size + 1], flush=True)\n"
                  "thread.join()\n"
                  "os.write(1, shared[:4])\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "--checksum", "-o", trace, "/usr/bin/python3", "-c", script, status=0)
        self.assertEqual(self.rdb("replay", trace, status=0).out, recorded.out)
        self.assertEqual(recorded.out, "2097153 7 120 7\n" * 2 + "\x07\0\0\0")

    def test_a_file_that_processes_map_each_by_itself(self):
        with open(self.path("file"), "wb") as file:
            file.write(b"0" * 4096)
        child = "import mmap, sys; f = open('file', 'r+b'); m = mmap.mmap(f.fileno(), 4096%s); print('child', m[0], flush=True)"
        read_only = ", prot=mmap.PROT_READ"
        script = ("import mmap, subprocess, sys\n"
                  "def child(text): return subprocess.run([sys.executable, '-c', text]).returncode\n"
                  f"writes, reads = {child % ''!r}, {child % read_only!r}\n"
                  "f = open('file', 'r+b')\n"
                  "m = mmap.mmap(f.fileno(), 4096)\n"
                  "print(child(writes), child(reads), flush=True)\n"
                  "m.close()\n"
                  "print(child(writes), child(reads), flush=True)\n"
                  "p = subprocess.Popen([sys.executable, '-c', writes + '; input()'], stdin=subprocess.PIPE, "
                  "stdout=subprocess.PIPE)\n"
                  "p.stdout.readline(); p.kill(); p.wait()\n"
                  "m = mmap.mmap(f.fileno(), 4096, prot=mmap.PROT_READ)\n"
                  "print(child(reads), child(writes), flush=True)\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "-o", trace, "/usr/bin/python3", "-c", script, status=0)
        self.assertEqual(recorded.out, "125 125\nchild 48\nchild 48\n0 0\nchild 48\n0 125\n")
        self.assertRegex(recorded.err, r"(rdb: not supported: memory shared by recorded processes: process \d+ has mapped "
                                       r"/.*/file too, by a call of its own\n){3}")
        self.assertEqual(self.rdb("replay", trace, status=0).out, "125 125\n0 0\n0 125\n")

    def test_system_v_memory(self):
        native = self.run_program([harness.target("record/segment")], status=0)
        for options in (["--checksum=calls"], ["--check-pages"], ["--chaos", "--seed", "3", "--checksum"]):
            with self.subTest(options):
                trace = self.path("-".join(["trace", *options]))
                recorded = self.rdb("record", "-q", *options, "-o", trace, harness.target("record/segment"), status=0)
                self.assertEqual(recorded.out, native.out)
                parts = [result.out for _, result in self.replay_processes(trace)]
                self.assertEqual(parts, [native.out.replace("child\n", ""), "child\n"])

    def test_system_v_memory_that_is_attached_twice(self):
        script = ("import ctypes, os\n"
                  "lib = ctypes.CDLL(None)\n"
                  "lib.shmat.restype = ctypes.c_long\n"
                  "segment = lib.shmget(0, 8192, 0o600)\n"
                  "reader, writer = os.pipe()\n"
                  "if os.fork() == 0:\n"
                  "    os.read(reader, 1)\n"
                  "    lib.shmat(segment, None, 0)\n"
                  "    os._exit(0)\n"
                  "lib.shmat(segment, None, 0)\n"
                  "os.write(writer, b'x')\n"
                  "print('child', os.waitstatus_to_exitcode(os.wait()[1]), flush=True)\n"
                  "lib.shmctl(segment, 0, None)\n"
                  "lib.shmat(segment, None, 0)\n"
                  "print('not reached')\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "-o", trace, "/usr/bin/python3", "-c", script, status=125)
        self.assertEqual(recorded.out, "child 125\n")
        name = r"/SYSV00000000 \(deleted\)"
        self.assertRegex(recorded.err, rf"process \d+ has mapped {name} too, by a call of its own\n")
        self.assertRegex(recorded.err, rf"rdb: not supported: two shared mappings of {name}, one of them writable\n")
        self.assertEqual(self.rdb("replay", trace, status=0).out, "child 125\n")

    def test_shared_memory_that_moves_ends_the_recording(self):
        script = ("import mmap, os\nshared = mmap.mmap(-1, 4096)\nos.write(1, b'before\\n')\n"
                  "while True:\n"  # a parent that would try for ever
                  "    if os.fork() == 0: shared.resize(1 << 20)\n"
                  "    os.wait()\n")
        recorded = self.rdb("record", "-o", self.path("trace"), "/usr/bin/python3", "-c", script, status=125)
        self.assertRegex(recorded.err, r"rdb: not supported: memory shared by recorded processes: mremap at 0x\w+\n")
        self.assertIn("rdb: the recording ended early: memory that its processes share was used in a way that cannot be "
                      "recorded", recorded.err)
        self.assertEqual(self.rdb("replay", self.path("trace"), status=0).out, "before\n")

    def test_a_call_that_writes_shared_memory_to_standard_output_lets_other_threads_run(self):
        script = ("import mmap, os, threading\n"
                  "size = 1 << 20\n"
                  "shared = mmap.mmap(-1, size)\n"
                  "if os.fork() == 0: os._exit(0)\n"
                  "os.wait()\n"
                  "reader = os.open('fifo', os.O_RDONLY)\n"
                  "thread = threading.Thread(target=lambda: os.writev(1, [b'x', shared]))\n"
                  "thread.start()\n"
                  "left = size + 1\n"
                  "while left > 0: left -= len(os.read(reader, left))\n"
                  "thread.join()\n"
                  "print('all', file=os.fdopen(2, 'w'))\n")
        os.mkfifo(self.path("fifo"))
        self.write("script", script)
        command = f"exec {harness.rdb()} record -q -o trace /usr/bin/python3 script 1<>fifo"
        self.assertEqual(self.run_program(["/bin/sh", "-c", command], status=0).err, "all\n")
        self.assertEqual(len(self.rdb("replay", self.path("trace"), status=0).out), (1 << 20) + 1)

    def test_calls_that_change_a_file_which_processes_share(self):
        script = ("import mmap, os, tempfile\n"
                  "file = tempfile.TemporaryFile(dir='.')\n"
                  "file.truncate(8192)\n"
                  "shared = mmap.mmap(file.fileno(), 8192)\n"
                  "shared[0], shared[4096] = 1, 9\n"
                  "(reader, to_child), (answer, to_parent) = os.pipe(), os.pipe()\n"
                  "if os.fork() == 0:\n"
                  "    while os.read(reader, 1) == b'x':\n"
                  "        os.write(1, b'child sees %d %d\\n' % (shared[0], shared[4096]))\n"
                  "        os.write(to_parent, b'y')\n"
                  "    os._exit(0)\n"
                  "def look():\n"
                  "    os.write(to_child, b'x')\n"
                  "    os.read(answer, 1)\n"
                  "look()\n"
                  "os.pwrite(file.fileno(), b'\\5', 0)\n"
                  "look()\n"
                  "shared[0] = 6\n"
                  "os.pwrite(file.fileno(), b'\\7', 4096)\n"
                  "look()\n"
                  "file.truncate(0)\n"
                  "file.truncate(8192)\n"
                  "look()\n"
                  "os.write(to_child, b'.')\n"
                  "os.wait()\n"
                  "print('parent', shared[0], shared[4096])\n")
        trace = self.path("trace")
        recorded = self.rdb("record", "-q", "--checksum", "-o", trace, "/usr/bin/python3", "-c", script, status=0)
        child = "".join(f"child sees {values}\n" for values in ("1 9", "5 9", "6 7", "0 0"))
        self.assertEqual(recorded.out, child + "parent 0 0\n")
        self.assertEqual([result.out for _, result in self.replay_processes(trace)], ["parent 0 0\n", child])

    def test_waiting_for_several_words_is_refused_by_name(self):
        script = ("import ctypes, mmap\n"
                  "shared = mmap.mmap(-1, 4096)\n"
                  "address = ctypes.addressof(ctypes.c_char.from_buffer(shared))\n"
                  "waiter = (ctypes.c_uint64 * 3)(0, address, 2)\n"  # the value, where, 32 bits
                  "ctypes.CDLL(None).syscall(449, waiter, 1, 0, None, 0)\n")
        recorded = self.rdb("record", "-o", self.path("trace"), "/usr/bin/python3", "-c", script, status=125)
        self.assertRegex(recorded.err, r"rdb: not supported: futex_waitv on memory that is mapped shared \(at 0x\w+\)\n")

    def test_many_files_that_processes_map(self):
        child = "import mmap; f = open('0', 'r+b'); m = mmap.mmap(f.fileno(), 4096); print('not reached')"
        script = ("import mmap, subprocess, sys\n"
                  "maps = []\n"
                  "for i in range(200):\n"
                  "    with open(str(i), 'w+b') as file:\n"
                  "        file.write(b'0' * 4096)\n"
                  "        file.flush()\n"
                  "        maps.append(mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ))\n"
                  f"print(subprocess.run([sys.executable, '-c', {child!r}]).returncode)\n")
        recorded = self.rdb("record", "-o", self.path("trace"), "/usr/bin/python3", "-c", script, status=0)
        self.assertEqual(recorded.out, "125\n")
        self.assertRegex(recorded.err, r"process \d+ has mapped /.*/0 too, by a call of its own\n")

    def test_memory_that_is_unmapped_is_given_back(self):
        script = ("import mmap, os\n"
                  "for _ in range(4):\n"
                  "    memory = mmap.mmap(-1, 16 << 20)\n"
                  "    memory.write(b'x' * (16 << 20))\n"
                  "    if os.fork() == 0: os._exit(0)\n"
                  "    os.wait()\n"
                  "    memory.close()\n"
                  "print('pid', os.getpid(), flush=True)\n"
                  "input()\n")
        command = [harness.rdb(), "record", "-q", "-o", self.path("trace"), "/usr/bin/python3", "-c", script]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=self.environment()) as process:
            pid = process.stdout.readline().split()[1]
            with open(f"/proc/{pid}/maps") as maps:
                ranges = [line.split()[0].split("-") for line in maps if "/dev/zero" in line]
            process.communicate("\n")
        self.assertNotIn(16 << 20, [int(end, 16) - int(begin, 16) for begin, end in ranges])

    def test_a_process_that_others_stop_is_waited_for(self):
        script = ("import mmap, os, signal, time\n"
                  "shared = mmap.mmap(-1, 4096)\n"
                  "reader, writer = os.pipe()\n"
                  "child = os.fork()\n"
                  "if child == 0:\n"
                  "    shared[0] = 5\n"
                  "    os.write(writer, b'x')\n"
                  "    while True: shared[1] = 1\n"
                  "os.read(reader, 1)\n"
                  "def used(): return time.clock_gettime(~child * 8 + 2)\n"  # its CPU time
                  "begin = used()\n"
                  "while used() < begin + 0.05: pass\n"
                  "os.kill(child, signal.SIGSTOP)\n"
                  "os.waitpid(child, os.WUNTRACED)\n"
                  "print('child', child, flush=True)\n"
                  "print('sees', shared[0], flush=True)\n"
                  "os.kill(child, signal.SIGKILL)\n")
        command = [harness.rdb(), "record", "-q", "-o", self.path("trace"), "/usr/bin/python3", "-c", script]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as process:
            child = int(process.stdout.readline().split()[1])
            self.assertRegex(process.stderr.readline(), rb"rdb: process \d+ waits for memory that it shares with process "
                                                        rb"%d, which is stopped\n" % child)
            os.kill(child, signal.SIGCONT)
            self.assertEqual(process.stdout.readline(), b"sees 5\n")
            self.assertEqual(process.wait(), 0)


if __name__ == "__main__":
    harness.main()
