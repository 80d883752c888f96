# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every guest of tests/targets/engine.cmake in every engine: the native run is the expected output. Some engines take only the
guests of less than a million instructions; with --full, they take all."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import guests
import harness

FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")

PLUGINS = [harness.target(f"eng_plugin{i}.so") for i in (1, 2, 3)]

# name → (program, arguments)
PROGRAMS = {
    "avx512": ("eng_avx512", []),
    "calls": ("eng_calls", []),
    "calls_static": ("eng_calls_static", []),
    "calls_static_pie": ("eng_calls_static_pie", []),
    "calls_nopie": ("eng_calls_nopie", []),
    "calls_unoptimised": ("eng_calls_unoptimised", []),
    "computed_goto": ("eng_computed_goto", []),
    "count": ("eng_count", []),
    "cpu": ("eng_cpu", []),
    "dlopen": ("eng_dlopen", ["30", *PLUGINS]),
    "exceptions": ("eng_exceptions", []),
    "exceptions_static": ("eng_exceptions_static", []),
    "faults": ("eng_faults", []),
    "faults_interrupts": ("eng_faults", ["interrupts"]),
    "flags": ("eng_flags", []),
    "integer": ("eng_integer", []),
    "integer_nopie": ("eng_integer_nopie", []),
    "longjmp": ("eng_longjmp", []),
    "memory": ("eng_memory", []),
    "simd": ("eng_simd", []),
    "smc": ("eng_smc", []),
    "stack_forms": ("eng_stack_forms", []),
    "strings": ("eng_strings", []),
    "swapcontext": ("eng_swapcontext", []),
    "vsyscall": ("eng_vsyscall", []),
    "x87": ("eng_x87", []),
}
with open("/proc/self/maps", encoding="utf-8") as maps:
    if "[vsyscall]" not in maps.read():  # this kernel does not have it
        del PROGRAMS["vsyscall"]

LARGE = {"calls_static", "calls_static_pie", "calls_nopie", "calls_unoptimised", "exceptions", "exceptions_static", "flags", "memory",
         "stack_forms", "strings"}
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
