# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs (random_assembly.py): registers, flags, memory and signal frames at the end are the native ones.
RDB_RANDOM_SEEDS=FROM-TO runs others than the usual seeds."""
import os

import guests
import harness
import random_assembly

FIRST, LAST = (int(n) for n in os.environ.get("RDB_RANDOM_SEEDS", "1000-1019").split("-"))
if harness.take_flag("--full"):
    LAST = FIRST + 399


class Random(guests.GuestTest):
    def check(self, seed, fuel, engine):
        name = f"random{seed}"
        source = self.write(name + ".S", random_assembly.program(seed, fuel))
        self.run_program(["/usr/bin/as", "-o", name + ".o", source], status=0)
        self.run_program(["/usr/bin/ld", "-o", name, name + ".o"], status=0)
        native = self.run_program([self.path(name)], text=False, status=0)
        result = self.rdb_run(guests.ENGINES[engine], [self.path(name)], text=False)
        if (native.status, native.out) != (result.status, result.out):
            words = [f"byte {i:#x}: native {native.out[i:i + 8].hex()} rdb {result.out[i:i + 8].hex()}"
                     for i in range(0, len(native.out), 8) if native.out[i:i + 8] != result.out[i:i + 8]]
            self.fail(f"seed {seed}, fuel {fuel}: status {result.status}, {len(words)} words differ (memory from 0, frame "
                      f"hash at "
                      f"{random_assembly.MEMORY:#x}, registers and vectors behind it)\n" + "\n".join(words[:12])
                      + f"\n{result.err.decode(errors='replace')[:500]}")

    def test_fast(self):
        for seed in range(FIRST, LAST + 1):
            with self.subTest(seed=seed):
                self.check(seed, 20000, "fast")

    def test_blocks(self):
        for seed in range(FIRST, FIRST + 5):
            with self.subTest(seed=seed):
                self.check(seed, 5000, "blocks")

    def test_lockstep(self):
        for seed in range(FIRST, FIRST + 5):
            with self.subTest(seed=seed):
                self.check(seed, 2000, "lockstep")

    def test_step(self):
        for seed in range(FIRST, FIRST + 5):
            with self.subTest(seed=seed):
                self.check(seed, 2000, "step")


if __name__ == "__main__":
    harness.main()
