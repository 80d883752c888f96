# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every guest of tests/targets/engine.cmake in every engine: the native run is the expected output. Some engines take only the
guests of less than a million instructions; with --full, they take all."""

import guests
import harness

FULL = harness.take_flag("--full")

PLUGINS = [harness.target(f"engine/plugin{i}.so") for i in (1, 2, 3)]

# name → (program, arguments)
PROGRAMS = {
    "avx512": ("engine/avx512", []),
    "calls": ("engine/calls", []),
    "calls_static": ("engine/calls_static", []),
    "calls_static_pie": ("engine/calls_static_pie", []),
    "calls_nopie": ("engine/calls_nopie", []),
    "calls_unoptimised": ("engine/calls_unoptimised", []),
    "computed_goto": ("engine/computed_goto", []),
    "count": ("engine/count", []),
    "cpu": ("engine/cpu", []),
    "dlopen": ("engine/dlopen", ["30", *PLUGINS]),
    "exceptions": ("engine/exceptions", []),
    "exceptions_static": ("engine/exceptions_static", []),
    "faults": ("engine/faults", []),
    "faults_interrupts": ("engine/faults", ["interrupts"]),
    "flags": ("engine/flags", []),
    "integer": ("engine/integer", []),
    "integer_nopie": ("engine/integer_nopie", []),
    "longjmp": ("engine/longjmp", []),
    "memory": ("engine/memory", []),
    "simd": ("engine/simd", []),
    "smc": ("engine/smc", []),
    "stack_forms": ("engine/stack_forms", []),
    "strings": ("engine/strings", []),
    "swapcontext": ("engine/swapcontext", []),
    "vsyscall": ("engine/vsyscall", []),
    "x87": ("engine/x87", []),
}
with open("/proc/self/maps", encoding="utf-8") as maps:
    if "[vsyscall]" not in maps.read():  # this kernel does not have it
        del PROGRAMS["vsyscall"]

LARGE = {"calls_static", "calls_static_pie", "calls_nopie", "calls_unoptimised", "exceptions", "exceptions_static", "flags",
         "memory", "stack_forms", "strings"}
SLOW_ENGINES = {"blocks", "lockstep"}


class Programs(guests.GuestTest):
    default_timeout = 900  # for lockstep on a busy machine


class Recorded(guests.GuestTest):
    """What the engine does in its own way is the same in a replay."""
    def check(self, name):
        program, arguments = PROGRAMS[name]
        argv = [harness.target(program), *arguments]
        native = self.run_program(argv, text=False)
        recorded = self.run_program([harness.rdb(), "record", "--checksum", "-o", "trace", "--", *argv], text=False)
        self.assertEqual((recorded.status, recorded.out), (native.status, native.out))
        for _ in range(3):
            replayed = self.run_program([harness.rdb(), "replay", "trace"], text=False)
            self.assert_same(native, replayed)


def add_recorded():
    for name in {"avx512", "smc", "vsyscall", "computed_goto", "dlopen"} & set(PROGRAMS):
        setattr(Recorded, f"test_{name}", lambda self, name=name: self.check(name))


def add_tests():
    for name, (program, arguments) in PROGRAMS.items():
        for engine in guests.ENGINES:
            if engine in SLOW_ENGINES and name in LARGE and not FULL:
                continue

            def test(self, argv=(harness.target(program), *arguments), engine=engine):
                self.compare(list(argv), engine)
            setattr(Programs, f"test_{name}_{engine}", test)


add_tests()
add_recorded()

if __name__ == "__main__":
    harness.main()
