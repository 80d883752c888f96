# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installing under a prefix, and building without the compiler side."""
import os

import harness

CMAKE = "/usr/bin/cmake"


class Install(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.prefix = self.path("prefix")
        self.run_program([CMAKE, "--install", harness.BUILD, "--prefix", self.prefix], status=0)

    def installed(self, name):
        return os.path.join(self.prefix, "bin", name)

    def test_rdb_works_from_the_prefix(self):
        result = self.run_program([self.installed("rdb"), "--version"], status=0)
        self.assertEqual(result.out, self.rdb("--version", status=0).out)

    def test_programs_do_not_look_into_the_build(self):
        for name in os.listdir(os.path.join(self.prefix, "bin")):
            with self.subTest(program=name):
                dynamic = self.run_program(["/usr/bin/readelf", "-d", self.installed(name)]).out
                self.assertNotIn(harness.BUILD, dynamic)

    @harness.needs_compiler
    def test_rdb_clang_compiles_from_the_prefix(self):
        self.write("hello.c", '#include <stdio.h>\nint main(void) { puts("hello"); }\n')
        self.run_program([self.installed("rdb-clang"), "hello.c", "-o", "hello"], status=0)
        self.assertEqual(self.run_program([self.path("hello")], status=0).out, "hello\n")
        self.write("hello.cc", '#include <iostream>\nint main() { std::cout << "hello++\\n"; }\n')
        self.run_program([self.installed("rdb-clang++"), "hello.cc", "-o", "hello++"], status=0)
        self.assertEqual(self.run_program([self.path("hello++")], status=0).out, "hello++\n")

    @harness.needs_compiler
    def test_the_header_is_found_beside_the_compiler(self):
        self.write("region.c", "#include <rdb/rdb.h>\n#include <stdio.h>\nint main(void) {\n"
                   "  rdb_begin\n    puts(\"debug\");\n  rdb_end\n}\n")
        self.run_program([self.installed("rdb-clang"), "region.c", "-o", "region"], status=0)
        self.assertTrue(os.path.exists(self.path("region.rdb/module.so")))


class WithoutCompiler(harness.TestCase):
    def test_nothing_of_llvm_is_looked_for_or_linked(self):
        build = self.path("build")
        self.run_program([CMAKE, "-S", harness.SOURCE, "-B", build, "-G", "Ninja", "-DRDB_COMPILER=OFF",
                          "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Clang=ON"], status=0)
        with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
            llvm = [line for line in file if "llvm-22" in line or "libclang" in line or "libLLVM" in line]
        self.assertEqual(llvm, [])


if __name__ == "__main__":
    harness.main()
