# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes C programs with as many regions as one likes, in several shapes. For tests and for bench/compile."""


def region(number, names):
    formats = " ".join(["%u"] * len(names))
    return ["  rdb_begin", '  printf("r%d %s\\n", %s);' % (number, formats, ", ".join(names)), "  rdb_end"]


def in_one_function(count):
    return [line for i in range(count) for line in ("  x = x * 3 + %d;" % i, *region(i, ["x"]))]


def in_blocks(count):
    return [line for i in range(count)
            for line in ("  if (x %% 7 != %d) {" % (i % 7), "  x = x * 3 + %d;" % i, *region(i, ["x"]), "  }")]


def side_by_side(count):
    return [line for i in range(count) for line in region(i, ["x"])]


def with_variables(count):
    """Each region reads the last eight variables."""
    return [line for i in range(count)
            for line in ("  unsigned v%d = x * 3 + %d; x = v%d + 1;" % (i, i, i),
                         *region(i, ["v%d" % j for j in range(max(0, i - 7), i + 1)]))]


def calls(count):
    return ["  x = f%d(x);" % i for i in range(count)]


def functions(count):
    return [line for i in range(count)
            for line in ("static __attribute__((noinline)) unsigned f%d(unsigned x) {" % i, "  x = x * 3 + %d;" % i,
                         *region(i, ["x"]), "  return x;", "}")]


def functions_with_globals(count):
    return [line for i in range(count)
            for line in ("static unsigned g%d = %d;" % (i, i),
                         "static __attribute__((noinline)) unsigned f%d(unsigned x) {" % i, "  g%d += x * 3;" % i,
                         *region(i, ["x", "g%d" % i]), "  return g%d;" % i, "}")]


def functions_with_debug_variables(count):
    """Two regions each: the second uses a variable that the first declares."""
    lines = []
    for i in range(count // 2):
        lines += ["static __attribute__((noinline)) unsigned f%d(unsigned x) {" % i, "  rdb_begin", "  unsigned k%d = x;" % i,
                  "  rdb_end", "  x = x * 3 + %d;" % i, *region(i, ["x", "k%d" % i]), "  return x;", "}"]
    return lines


def nothing(_):
    return []


# By name: what stands ahead of main, and in it.
SHAPES = {
    "one-function": (nothing, in_one_function),
    "blocks": (nothing, in_blocks),
    "side-by-side": (nothing, side_by_side),
    "variables": (nothing, with_variables),
    "functions": (functions, calls),
    "globals": (functions_with_globals, calls),
    "debug-variables": (functions_with_debug_variables, lambda count: calls(count // 2)),
}


def program(shape, count):
    ahead, inside = SHAPES[shape]
    return "\n".join(["#include <stdio.h>", "#include <rdb/rdb.h>", *ahead(count), "int main(int argc, char **argv) {",
                      "  unsigned x = (unsigned)argc;", *inside(count), '  printf("%u\\n", x + (argv == 0));', "  return 0;",
                      "}", ""])
