# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many small regions that change the program's memory, each in a function of its own, behind which it is as before."""
import harness


def check(case, name, program, writes, type_name, new_line, flags=()):
    """`writes`: a line for each region, `code # what it prints`. FUNCTIONS and CALLS in the program stand for them."""
    changes = [line.rsplit(" # ", 1) for line in writes.strip("\n").splitlines()]
    barrier = '__asm__ volatile("" : : "r"(p) : "memory");'
    functions = "".join(f"__attribute__((noinline)) void region{k}({type_name} *p) {{\n  {barrier}\n  rdb_begin\n    {{ {code} }} {new_line}\n  rdb_end\n  {barrier}\n}}\n"
                        for k, (code, _) in enumerate(changes))
    calls = " ".join(f"region{k}(p);" for k in range(len(changes)))
    case.write(name, program.replace("FUNCTIONS", functions).replace("CALLS", calls))
    case.write("input", "31 line\nand another\n")
    compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
    for level in (["-O0"], ["-O2"], ["-O2", "-D_FORTIFY_SOURCE=2"]):
        for options in ((), ("--protect",)):
            with case.subTest(level, options=options):
                case.run_program([compiler, "-g", "-w", *level, *flags, "-o", "prog", name, "-lm"], status=0)
                case.run_program(["/bin/rm", "-rf", case.path("trace")])
                recorded = case.rdb("record", "--checksum=calls", "-q", "-o", case.path("trace"), "--", "./prog", status=0)
                replayed = case.rdb("replay", *options, case.path("trace"), status=0)
                case.assertEqual(replayed.out, "".join(shown + "\n" for _, shown in changes) * 2 + recorded.out, f"\n{replayed}")
                case.assertNotIn("not run", replayed.err)
