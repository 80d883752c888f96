# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code lets functions of its C and C++ libraries, the kernel and inline assembly write to the program's memory: the
region sees what they wrote, and it is undone when the region ends. Every recording has hashes of memory and registers, which
the replay checks."""

import each_region
import harness

# One region each.
C_WRITES = each_region.changes(__file__, "library_writes/writes.c")

C_PROGRAM = harness.program_text(__file__, "library_writes/program.c")

CXX_WRITES = each_region.changes(__file__, "library_writes/writes.cc")

CXX_PROGRAM = harness.program_text(__file__, "library_writes/program.cc")


@harness.needs_compiler
class LibraryWrites(harness.TestCase):
    def test_c(self):
        each_region.check(self, "writes.c", C_PROGRAM, C_WRITES, "struct all", 'puts("");')

    def test_cxx(self):
        each_region.check(self, "writes.cc", CXX_PROGRAM, CXX_WRITES, "All", 'std::cout << "\\n";')


if __name__ == "__main__":
    harness.main()
