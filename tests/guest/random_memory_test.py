# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of random steps on mappings and files see the same natively, in a recording and in its replay.

    random_memory_test.py [[fork] FIRST COUNT]     these seeds instead of the usual ones"""
import sys

import harness

STEPS = 60
SEEDS = range(1, 31)
# The same with a second process from the middle on.
FORKED_STEPS = 50
FORKED_SEEDS = range(1, 13)
# Seeds that once went wrong.
FORKED_KNOWN = [
    13,  # a call that reads private memory and shared memory in one piece
    16,  # a file that another process changes where this one may not look
    17,  # parts of one mapping with different protections
    20,  # a file that is open for writing, and mapped by a descriptor that is not
    23,  # a call that reads shared memory which the program cannot
    170,  # a call that reads shared memory and what is not there after it
    225,  # the output of a call to shared memory that can only be written
    256,  # a file that is read into its own mapping, which is shared
    293,  # shared memory that a child does not get
]
# Where steps with a known cause once went wrong: seed, steps, and those that are left out.
REDUCED = [
    (6, 45, []),  # advice that the kernel judges by the protection
    (13, 32, [30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 6, 3, 2, 1, 0]),
    (65, 17, []),  # memory of a file that is moved together with other memory, and stays
    (69, 23, []),  # shared memory that mremap has made longer than it is
    (71, 45, []),  # a hole that is moved
    (76, 12, []),  # an mprotect that fails at once
    (218, 60, []),  # a file that is read into its own mapping
    (338, 60, []),  # output to a private page of a file that has it already, in a call that comes to an end
    (358, 60, []),  # what an earlier mapping has written after the end of a file
    (643, 60, []),  # two mappings that are one for the host, moved and made shorter at once
    (1711, 60, []),  # growth without room of what looks like one mapping, and was writable in part
    (3056, 60, []),  # the same with memory of a file
    (407, 60, []),  # a hole that is moved to where a file is mapped
]


class RandomMemory(harness.TestCase):
    def check_seed(self, seed, steps=STEPS, left_out=()):
        command = [harness.target("memory/random"), seed, steps, *left_out]
        trace = self.path(f"trace-{seed}")
        native = self.run_program(command, status=0)
        recorded = self.rdb("record", "-q", "--checksum=calls", "-o", trace, *command)
        self.assertEqual((recorded.out, recorded.status), (native.out, 0), f"\n{recorded}")
        replayed = self.rdb("replay", trace)
        self.assertEqual((replayed.out, replayed.status), (native.out, 0), f"\n{replayed}")
        self.run_program(["/bin/rm", "-r", trace], status=0)

    def check_forked_seed(self, seed):
        command = [harness.target("memory/random"), "fork", seed, FORKED_STEPS]
        trace = self.path(f"trace-{seed}")
        native = self.run_program(command, status=0)
        recorded = self.rdb("record", "-q", "--checksum=calls", "-o", trace, *command)
        self.assertEqual((recorded.out, recorded.err, recorded.status), (native.out, "", 0), f"\n{recorded}")
        processes = self.rdb("ps", trace, status=0).out.splitlines()[1:]
        self.assertEqual(len(processes), 2)
        for process, is_child in zip(processes, (False, True)):
            own = [line for line in native.out.splitlines(True) if ("child" in line.split(":")[0]) == is_child]
            replayed = self.rdb("replay", "-p", process.split()[0], trace)
            self.assertEqual((replayed.out, replayed.status), ("".join(own), 0), f"\n{replayed}")
        self.run_program(["/bin/rm", "-r", trace], status=0)

    def test_seeds(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.check_seed(seed)

    def test_forked_seeds(self):
        for seed in [*FORKED_SEEDS, *FORKED_KNOWN]:
            with self.subTest(seed=seed):
                self.check_forked_seed(seed)

    def test_reduced(self):
        for seed, steps, left_out in REDUCED:
            with self.subTest(seed=seed):
                self.check_seed(seed, steps, left_out)


if __name__ == "__main__":
    if len(sys.argv) >= 3:
        forked = sys.argv[1] == "fork"
        if forked:
            sys.argv.pop(1)
        first, count = int(sys.argv.pop(1)), int(sys.argv.pop(1))
        chosen = range(first, first + count)
        SEEDS, FORKED_SEEDS = ([], chosen) if forked else (chosen, [])
    harness.main()
