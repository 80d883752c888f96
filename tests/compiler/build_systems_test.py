# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb-clang as CC and CXX of build systems: separate compilation, static and shared libraries, `ld -r`, parallel builds.
What it builds is what clang builds, and every program and library has its bundle."""
import os
import shutil
import unittest

import harness
from toolchain import BUILD, CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, CompilerTest
from region_programs import strip_regions

FILES = {
    "main.c": harness.program_text(__file__, "build_systems/main.c"),
    "tree.h": harness.program_text(__file__, "build_systems/tree.h"),
    "insert.c": harness.program_text(__file__, "build_systems/insert.c"),
    "size.c": harness.program_text(__file__, "build_systems/size.c"),
    "unused.c": harness.program_text(__file__, "build_systems/unused.c"),
    "scale.c": harness.program_text(__file__, "build_systems/scale.c"),
}

MAKEFILE = """\
CFLAGS = -O1 -fPIC
all: prog joined
libtree.a: insert.o size.o unused.o
\tar rcs $@ $^
libscale.so: scale.o
\t$(CC) -shared -Wl,-soname,$@ $^ -o $@
prog: main.o libtree.a libscale.so
\t$(CC) main.o -L. -ltree -lscale -Wl,-rpath,'$$ORIGIN' -o $@
both.o: insert.o size.o
\tld -r $^ -o $@
joined: main.o both.o scale.o
\t$(CC) $^ -o $@
*.o: tree.h
"""

CMAKELISTS = """\
cmake_minimum_required(VERSION 3.20)
project(demo C)
add_library(tree STATIC insert.c size.c unused.c)
add_library(scale SHARED scale.c)
add_executable(prog main.c)
target_link_libraries(prog tree scale)
"""

CONFIGURE_AC = """\
AC_INIT([tree], [1.0])
AC_CONFIG_AUX_DIR([aux])
AC_CONFIG_MACRO_DIR([m4])
AM_INIT_AUTOMAKE([foreign])
AM_PROG_AR
AC_PROG_CC
AC_CHECK_HEADERS([stdlib.h unistd.h])
AC_CHECK_FUNCS([calloc strlcpy])
LT_INIT
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""

MAKEFILE_AM = """\
ACLOCAL_AMFLAGS = -I m4
AM_CFLAGS = -O2
lib_LTLIBRARIES = libscale.la
libscale_la_SOURCES = scale.c
libscale_la_LDFLAGS = -version-info 3:1:1
noinst_LTLIBRARIES = libconvenience.la
libconvenience_la_SOURCES = size.c
noinst_LIBRARIES = libtree.a
libtree_a_SOURCES = insert.c unused.c tree.h
bin_PROGRAMS = prog
prog_SOURCES = main.c
prog_LDADD = libtree.a libconvenience.la libscale.la
noinst_PROGRAMS = whole
whole_SOURCES = main.c
whole_LDADD = libtree.a libconvenience.la libscale.la
whole_LDFLAGS = -static
"""

AUTOTOOLS = ("autoreconf", "automake", "libtoolize")


def without_regions(files):
    return {name: strip_regions(text) for name, text in files.items()}


class BuildSystems(CompilerTest):
    def put(self, files):
        for name, text in files.items():
            self.write(os.path.join("src", name), text)

    def regions(self, bundle):
        """{(file, line)} of the regions that have locations."""
        sources, regions, placed = {}, {}, set()
        with open(os.path.join(self.dir, bundle, "descriptors")) as file:
            for line in file:
                words = line.split(" ")
                if words[0] == "source":
                    sources[words[1]] = os.path.basename(words[2].strip('"'))
                if words[0] == "region":
                    regions[words[1]] = (sources[words[3]], int(words[4]))
                if words[0] == "location":
                    placed.add(regions[words[1]])
        return placed

    def build_twice(self, build, results):
        """Builds in the same folder, first as it was before the regions, and compares what came out."""
        self.put(without_regions(FILES))
        build(CLANG, CLANGXX)
        expected = {name: self.read(name) for name in results}
        shutil.rmtree(os.path.join(self.dir, "src"))
        self.put(FILES)
        build(RDB_CLANG, RDB_CLANGXX)
        for name in results:
            self.assertTrue(self.read(name) == expected[name], f"{name} is not what clang makes")

    def test_make_in_parallel(self):
        def build(cc, cxx):
            self.write("src/Makefile", MAKEFILE)
            self.run_command(["make", "-j4", f"CC={cc}", f"CXX={cxx}"], cwd=os.path.join(self.dir, "src"))
        self.build_twice(build, ["src/prog", "src/joined", "src/libscale.so"])
        self.assertEqual(self.regions("src/prog.rdb"), {("main.c", 10), ("insert.c", 7), ("tree.h", 8)})
        self.assertEqual(self.regions("src/libscale.so.rdb"), {("scale.c", 5)})
        self.assertEqual(self.regions("src/joined.rdb"),
                         {("main.c", 10), ("insert.c", 7), ("tree.h", 8), ("scale.c", 5)})
        self.run_command([os.path.join(self.dir, "src/prog")])

    @unittest.skipUnless(shutil.which("cmake"), "no cmake")
    def test_cmake(self):
        def build(cc, cxx):
            self.write("src/CMakeLists.txt", CMAKELISTS)
            self.run_command(["cmake", "-S", "src", "-B", "src/build", "-DCMAKE_BUILD_TYPE=Release",
                              f"-DCMAKE_C_COMPILER={cc}"])
            self.run_command(["cmake", "--build", "src/build", "-j2"])
        self.build_twice(build, ["src/build/prog", "src/build/libscale.so"])
        self.assertIn(("insert.c", 7), self.regions("src/build/prog.rdb"))
        self.assertEqual(self.regions("src/build/libscale.so.rdb"), {("scale.c", 5)})

    @unittest.skipUnless(all(map(shutil.which, AUTOTOOLS)), "no autoconf, automake, libtool")
    def test_autotools(self):
        def build(cc, cxx):
            self.write("src/configure.ac", CONFIGURE_AC)
            self.write("src/Makefile.am", MAKEFILE_AM)
            os.mkdir(os.path.join(self.dir, "src", "m4"))
            folder = os.path.join(self.dir, "src")
            self.run_command(["autoreconf", "--install", "--force"], cwd=folder)
            self.run_command(["./configure", f"CC={cc}", f"CXX={cxx}", "CFLAGS=-g -O2", "--disable-silent-rules",
                              f"--prefix={folder}/installed"], cwd=folder)
            self.run_command(["make", "-j2"], cwd=folder)
            self.run_command(["make", "install"], cwd=folder)
        library = "libscale.so.2.1.1"
        self.build_twice(build, ["src/.libs/prog", "src/whole", f"src/.libs/{library}", "src/installed/bin/prog",
                                 f"src/installed/lib/{library}"])
        self.assertEqual(self.regions("src/.libs/prog.rdb"), {("main.c", 10), ("insert.c", 7), ("tree.h", 8)})
        self.assertEqual(self.regions("src/whole.rdb"), {("main.c", 10), ("insert.c", 7), ("tree.h", 8), ("scale.c", 5)})
        self.assertEqual(self.regions(f"src/.libs/{library}.rdb"), {("scale.c", 5)})
        self.assertEqual(self.run_command([os.path.join(self.dir, "src/installed/bin/prog")]).stdout, "5 18\n")

    def test_one_command_compiles_and_links(self):
        self.put(FILES)
        self.run_command([RDB_CLANG, "src/main.c", "src/insert.c", "src/size.c", "src/scale.c", "-o", "prog"])
        self.assertEqual(len(self.regions("prog.rdb")), 4)
        # Without regions the bundle goes.
        self.put(without_regions(FILES))
        self.run_command([RDB_CLANG, "src/main.c", "src/insert.c", "src/size.c", "src/scale.c", "-o", "prog"])
        self.assertFalse(os.path.exists(os.path.join(self.dir, "prog.rdb")))

    def test_inspect_shows_the_bundle(self):
        self.put(FILES)
        self.run_command([RDB_CLANG, "src/main.c", "src/insert.c", "src/size.c", "src/scale.c", "-o", "prog"])
        inspect = [os.path.join(BUILD, "bin", "rdb"), "inspect"]
        shown = self.run_command([*inspect, "prog.rdb"]).stdout
        self.assertIn("src/main.c:10-12 in main: complete", shown)
        self.assertRegex(shown, r"printf +private +rdb")
        self.assertRegex(shown, r"size +program 0x[0-9a-f]+ +size-.*\.o")
        os.mkdir(os.path.join(self.dir, "links"))
        os.symlink("../prog", os.path.join(self.dir, "links", "newest"))
        self.assertEqual(self.run_command([*inspect, "links/newest"]).stdout, shown)


if __name__ == "__main__":
    unittest.main()
