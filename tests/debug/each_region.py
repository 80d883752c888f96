# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many small regions that change the program's memory, each in a function of its own, behind which it is as before."""
import harness


def changes(test, name):
    """What each region does, and what it prints: a file in programs/ has the code and after it a line `// prints: TEXT`."""
    found, code = [], []
    for line in harness.program_text(test, name).splitlines():
        if line.startswith("// prints: "):
            found.append((" ".join(code), line.removeprefix("// prints: ")))
            code = []
        else:
            code.append(line)
    return found


def check(case, name, program, writes, type_name, new_line, flags=()):
    """`writes`: code and what it prints for each region. FUNCTIONS and CALLS in the program stand for them."""
    barrier = '__asm__ volatile("" : : "r"(p) : "memory");'
    functions = "".join(f"__attribute__((noinline)) void region{k}({type_name} *p) "
                        f"{{\n  {barrier}\n  rdb_begin\n    {{ {code} }} {new_line}\n  rdb_end\n  {barrier}\n}}\n"
                        for k, (code, _) in enumerate(writes))
    calls = " ".join(f"region{k}(p);" for k in range(len(writes)))
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
                case.assertEqual(replayed.out, "".join(shown + "\n" for _, shown in writes) * 2 + recorded.out, f"\n{replayed}")
                case.assertNotIn("not run", replayed.err)
