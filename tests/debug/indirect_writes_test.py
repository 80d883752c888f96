# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the C and C++ libraries find the program's memory behind variables of debug code's own: behind a stream, in a
list, by a structure that was filled before. The region sees what they write there, and it is undone when the region ends.
Every recording has hashes of memory and registers, which the replay checks."""

import each_region
import harness

# One region each. A call of the program lets everybody write again.
C_WRITES = each_region.changes(__file__, "indirect_writes/writes.c")

C_PROGRAM = harness.program_text(__file__, "indirect_writes/program.c")

CXX_WRITES = each_region.changes(__file__, "indirect_writes/writes.cc")

CXX_PROGRAM = harness.program_text(__file__, "indirect_writes/program.cc")


@harness.needs_compiler
class IndirectWrites(harness.TestCase):
    def test_c(self):
        each_region.check(self, "writes.c", C_PROGRAM, C_WRITES, "struct all", 'puts("");')

    def test_cxx(self):
        each_region.check(self, "writes.cc", CXX_PROGRAM, CXX_WRITES, "All", 'std::cout << "\\n";', ["-std=c++23"])


if __name__ == "__main__":
    harness.main()
