# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nothing of the engine shows in guest memory: dead stack is the same in every run and engine, and no word of it is an
address of host code."""
import os
import resource
import struct
import subprocess

import guests
import harness


def executable_ranges(pid):
    """The executable mappings of a process. Guest pages are never among them: a guest runs from the code cache."""
    ranges = []
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            addresses, mode = line.split()[:2]
            if "x" in mode and "[vsyscall]" not in line:
                ranges.append(tuple(int(a, 16) for a in addresses.split("-")))
    return ranges


class Isolation(guests.GuestTest):
    def test_dead_stack_is_the_same_in_every_run_and_engine(self):
        argv = [harness.target("engine/stack_hash")]
        outputs = [self.rdb_run(["--no-aslr", *options], argv, status=0).out
                   for options in ([], [], ["--engine=step"], ["--lockstep"])]
        self.assertRegex(outputs[0], r"below [0-9a-f]{16} above [0-9a-f]{16}\n")
        self.assertEqual(outputs, [outputs[0]] * 4)

    def test_the_last_x87_instruction_is_the_same_in_every_run_and_engine(self):
        argv = [harness.target("engine/x87"), "strict"]
        outputs = {self.rdb_run(options, argv, status=0).out for options in [[], ["--engine=step"]] * 3}
        self.assertEqual(len(outputs), 1, outputs)

    def test_the_seed_decides_the_stack(self):
        argv = [harness.target("engine/stack_hash")]
        seeded = lambda seed: self.rdb_run(["--seed", str(seed)], argv, status=0).out
        self.assertEqual(seeded(3), seeded(3))
        self.assertNotEqual(seeded(3), seeded(4))

    def test_no_address_of_host_code_in_guest_memory(self):
        # With fixed layouts: under a random one other bytes look like an address now and then.
        for options in ["--seed", "1"], ["--seed", "2"], ["--seed", "1", "--engine=step"]:
            with self.subTest(options=options):
                argv = [harness.rdb(), "run", *options, "--", harness.target("engine/stack_hash"), "dump"]
                with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.tmp,
                                      env=self.environment()) as child:
                    dump = child.stdout.read()
                    ranges = executable_ranges(child.pid)
                    child.stdin.close()
                    self.assertEqual(child.wait(60), 0)
                dump = dump[dump.index(b"\n") + 1:]  # from here on offsets are aligned as addresses are
                self.assertGreater(len(dump), 48 * 1024)
                self.assertGreater(len(ranges), 1)
                found = []
                for offset in range(len(dump) - 8):
                    # At every byte, not only aligned: an address may lie in a structure or half overwritten.
                    if dump[offset + 6] == 0 and dump[offset + 7] == 0:
                        word = struct.unpack_from("<Q", dump, offset)[0]
                        # The code cache is below 2 GiB: the end of one word and a small number in the next look like
                        # an address there, which would be aligned.
                        found += [f"offset {offset:#x}: {word:#x}" for low, high in ranges if low <= word < high
                                  if word >= 1 << 32 or offset % 4 == 0]
                self.assertEqual(found, [])

    def test_memory_is_bounded_when_libraries_come_and_go(self):
        def peak(rounds):
            plugins = [harness.target(f"engine/plugin{i}.so") for i in (1, 2, 3)]
            argv = [harness.rdb(), "run", "--no-aslr", "--", harness.target("engine/dlopen"), str(rounds), *plugins]
            child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=self.environment())
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            return usage.ru_maxrss
        # After the first thousand everything was thrown away and made anew at least once.
        few, many = peak(1000), peak(4000)
        self.assertLess(many - few, 4 << 10, f"{few} KiB, then {many}")

    def test_limits_of_the_process_hold_for_the_guest(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
        script = "import resource; print(resource.getrlimit(resource.RLIMIT_STACK))"
        argv = ["/usr/bin/python3", "-c", script]
        native = subprocess.run(argv, preexec_fn=limit, capture_output=True, check=True).stdout
        result = subprocess.run([harness.rdb(), "run", "--", *argv], preexec_fn=limit, capture_output=True, check=True).stdout
        self.assertEqual(result, native)


if __name__ == "__main__":
    harness.main()
