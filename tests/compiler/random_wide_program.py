# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C programs of more kinds than random_c_program.py has: floating point, narrow and signed integers, bit-fields,
structures that are passed and returned in registers and in memory, volatile variables, pointers that walk through arrays,
goto, recursion, nested loops over arrays long enough for vectors, and regions that read whole arrays.

    random_wide_program.py SEED      prints one
"""
import re
import sys

from random_c_program import PARAMETERS, TYPES, Program, named

MORE_TYPES = TYPES + r"""
struct P { u x, y; };
struct Q { double d; u n; };
struct T { unsigned char t[3]; };
struct L { unsigned long l[3]; };
struct B { unsigned a : 3; unsigned b : 13; signed c : 7; unsigned d : 9; unsigned long e : 40; };
struct P gP = {3, 4}; static struct P hP; struct Q gQ = {1.5, 2}; struct T gT = {{1, 2, 3}}; struct L gL = {{7, 8, 9}};
struct B gB = {1, 2, 3, 4, 5}; static struct B hB = {5, 4, -3, 2, 1};
double gd = 2.25; static float hf = 0.5f; static unsigned char hc = 200; unsigned short gh = 40000; int gi = -5; static _Bool hq;
u big[40]; static unsigned char bytes[48]; static double reals[24]; u grid[4][8]; static unsigned long longs[20];
"""
# Kinds of variables: the type before and behind the name.
INTEGERS = {"u": "u", "uchar": "unsigned char", "ushort": "unsigned short", "int": "int", "ulong": "unsigned long",
            "bool": "_Bool", "volatile": "volatile u", "schar": "signed char"}
REALS = {"double": "double", "float": "float"}
SMALL = {"struct P": ("x", "y"), "struct Q": ("n",), "struct T": ("t[1]", "t[2]"), "struct L": ("l[0]", "l[2]"),
         "struct B": ("a", "b", "c", "d", "e")}
MORE_GLOBALS = ["gP.x", "hP.y", "gQ.n", "gT.t[1]", "gL.l[1]", "gB.b", "gB.c", "hB.d", "hB.e", "hc", "gh", "gi", "hq", "big[33]",
                "bytes[5]", "grid[2][3]", "longs[7]"]
GLOBAL_STRUCTURES = {"struct P": ("gP", "hP"), "struct Q": ("gQ",), "struct T": ("gT",), "struct L": ("gL",),
                     "struct B": ("gB", "hB")}

MOST_WORK = 5000  # statements that a call may lead to


class WideProgram(Program):
    types = MORE_TYPES
    parameters = [*PARAMETERS, *INTEGERS, *REALS, *SMALL, *SMALL]

    def __init__(self, seed):
        self.makers = []  # functions that return structures: name, type, types of the parameters
        self.known = []   # all other functions
        self.work = {}    # about how many statements a call of a function leads to
        self.turns, self.own_work = 1, 0
        super().__init__(seed)

    # Only so much is called in loops as comes to an end.

    @property
    def functions(self):
        return [function for function in self.known if self.work[function[0]] * self.turns < MOST_WORK]

    @functions.setter
    def functions(self, _):
        pass

    def declare(self, name, parameters):
        self.known.append((name, [type_ for type_, _ in parameters]))
        self.work[name], self.own_work = self.own_work, 0

    def line(self, indent, text):
        super().line(indent, text)
        called = sum(self.work.get(name, 0) for name in re.findall(r"\b([fqm]\d+)\(", text))
        self.own_work += self.turns * (1 + called)

    def block(self, variables, indent, depth, in_loop):
        before, self.turns = self.turns, 6 ** len(named(variables, "counter"))
        super().block(variables, indent, depth, in_loop)
        self.turns = before

    # Expressions: all operands are made unsigned, so that nothing overflows.

    def global_scalar(self):
        return self.random.choice(MORE_GLOBALS) if self.random.random() < .5 else super().global_scalar()

    def scalars(self, variables, written=False):
        found = super().scalars(variables, written)
        for kind, name in variables:
            if kind in INTEGERS and kind != "u":
                found.append(name)
            elif kind in SMALL:
                found += [f"{name}.{member}" for member in SMALL[kind]]
        return found

    def real(self, variables, depth=0):
        what = self.random.random()
        reals = [*named(variables, *REALS), *(name + ".d" for name in named(variables, "struct Q")), "gd", "hf", "gQ.d"]
        if depth > 2 or what < .35:
            return self.random.choice(reals)
        if what < .5:
            return self.choice("0.5", "3.0", "1e9", "-0.25f", "7.75f")
        if what < .65:
            return f"({self.choice('double', 'float')}){self.expression(variables, 2)}"
        if what < .9:
            left, operator = self.real(variables, depth + 1), self.choice("+", "-", "*")
            return f"({left} {operator} {self.real(variables, depth + 1)})"
        left = self.real(variables, depth + 1)
        return f"({left} < {self.real(variables, depth + 1)} ? {left} : {self.real(variables, depth + 1)})"

    def leaf(self, scalars):
        return "(u)" + super().leaf(scalars)

    def expression(self, variables, depth=0):
        def operand():
            return self.expression(variables, depth + 1)

        what = self.random.random()
        if depth > 2 or what < .62:
            return "(u)" + super().expression(variables, depth)
        if what < .68:
            return f"({operand()} << ({operand()} & 31))"
        if what < .74:
            return f"(({operand()} >> ({operand()} & 31)) & 1)"
        if what < .78:
            return f"(u)(({self.choice('signed char', 'short', 'int')}){operand()} >> {self.random.randrange(1, 6)})"
        if what < .82:
            return f"(u)((int){operand()} / {self.choice(3, 7, 10, 16)})"
        if what < .86:
            return f"(u)(((unsigned long){operand()} * {operand()}) >> {self.choice(8, 32, 20)})"
        if what < .9:
            return f"(u)({self.real(variables, 1)} {self.choice('<', '>=', '==')} {self.real(variables, 1)})"
        if what < .93:
            value = self.real(variables, 1)
            return f"({value} > 0 && {value} < 1e6 ? (u)({value}) : 7u)"
        if what < .96:
            amount = operand()
            return f"__builtin_rotateleft32({operand()}, {amount})"
        return self.choice(f"__builtin_bswap32({operand()})", f"(u)__builtin_popcount({operand()})",
                           f"(u)({self.choice('unsigned char', 'unsigned short', '_Bool')}){operand()}")

    def argument(self, kind, variables):
        if kind in INTEGERS:
            return self.expression(variables, 1)
        if kind in REALS:
            return self.real(variables, 1)
        if kind in SMALL:
            makers = [maker for maker in self.makers if maker[1] == kind and self.work[maker[0]] * self.turns < MOST_WORK]
            if makers and self.random.random() < .3:
                return self.made(self.random.choice(makers), variables)
            return self.choice(*named(variables, kind), *GLOBAL_STRUCTURES[kind])
        return super().argument(kind, variables)

    def made(self, maker, variables):
        return f"{maker[0]}({', '.join(self.argument(kind, variables) for kind in maker[2])})"

    # Statements.

    def region(self, variables, indent):
        if self.random.random() < .6:
            return super().region(variables, indent)
        self.regions += 1
        self.line(indent, "rdb_begin")
        for _ in range(self.choice(1, 1, 2)):
            self.line(indent, "  " + self.print_of(variables))
        self.line(indent, "rdb_end")

    def print_of(self, variables):
        begin = f'printf("R{self.regions}'
        what = self.random.random()
        reals = [*named(variables, *REALS), *(name + ".d" for name in named(variables, "struct Q"))]
        if what < .4:
            value = self.choice(*reals, *reals, "gd", "hf", "gQ.d")
            return f'{begin} %a\\n", {value} != {value} ? 0 : (double){value});'
        if what < .6:
            array, count = self.choice(*((name, 8) for name in named(variables, "array")), ("garr", 8), ("harr", 8), ("big", 40),
                                       ("bytes", 48), ("longs", 20))
            return f'{{ u s = 0; for (u q = 0; q < {count}; q++) s = s * 31 + (u){array}[q]; {begin} %u\\n", s); }}'
        scalars = self.scalars(variables) or [self.global_scalar()]
        return f'{begin} %ld\\n", (long)({self.random.choice(scalars)}));'

    def declaration(self, variables, indent):
        name, what = self.unused_name("v"), self.random.random()
        if what < .3:
            super().declaration(variables, indent)
        elif what < .6:
            kind = self.random.choice(list(INTEGERS))
            self.line(indent, f"{INTEGERS[kind]} {name} = {self.expression(variables)};")
            variables.append((kind, name))
        elif what < .8:
            kind = self.random.choice(list(REALS))
            self.line(indent, f"{kind} {name} = {self.real(variables)};")
            variables.append((kind, name))
        else:
            kind = self.random.choice(list(SMALL))
            self.line(indent, f"{kind} {name} = {self.argument(kind, variables)};")
            variables.append((kind, name))

    def statement(self, variables, indent, depth, in_loop):
        what = self.random.random()
        if what < .55:
            super().statement(variables, indent, depth, in_loop)
        elif what < .65:
            place = self.choice(*named(variables, *REALS), *(name + ".d" for name in named(variables, "struct Q")), "gd", "hf",
                                "gQ.d")
            self.line(indent, f"{place} {self.choice('=', '=', '+=', '-=')} {self.real(variables)};")
        elif what < .7:
            kind = self.random.choice(list(SMALL))
            places = [*named(variables, kind), *GLOBAL_STRUCTURES[kind]]
            place, source = self.random.choice(places), self.argument(kind, variables)
            self.line(indent, self.choice(f"{place} = {source};", f"{place} = {source};",
                                          f"memset(&{place}, {self.choice(0, 7)}, sizeof {place});",
                                          f"memmove(&{place}, &{self.random.choice(places)}, {self.random.randint(1, 3)});"
                                          if kind != "struct Q" and kind != "struct B" else f"{place} = {source};"))
        elif what < .78:
            self.long_loop(variables, indent)
        elif what < .84:
            self.walk(variables, indent)
        elif what < .88 and depth < 2:
            self.nested_loops(variables, indent, depth)
        elif what < .92 and depth < 2:
            self.jump(variables, indent, depth)
        elif what < .95 and depth < 2:
            self.while_loop(variables, indent, depth)
        else:
            self.large_switch(variables, indent)

    def inner(self, variables, indent):
        """Some simple statements of a short loop."""
        for _ in range(self.random.randint(0, 2)):
            if self.random.random() < .5:
                self.region(variables, indent)
            self.line(indent, f"{self.place(variables)} {self.choice('=', '+=', '^=')} {self.expression(variables, 2)};")

    def long_loop(self, variables, indent):
        i, what = self.unused_name("k"), self.random.random()
        value = self.choice(i, self.expression(variables, 2))
        begin = f"for (u {i} = 0; {i} < %s; {i}++) "
        if what < .2:
            self.line(indent, begin % 40 + f"big[{i}] = big[39 - {i}] {self.choice(*'+^*')} {value};")
        elif what < .4:
            self.line(indent, begin % 48 + f"bytes[{i}] = {self.choice(f'bytes[{i}] + {i}', value, '3', f'big[{i} & 31]')};")
        elif what < .55:
            self.line(indent, begin % 20 + f"longs[{i}] {self.choice('+=', '=', '^=')} {value} * 3ul;")
        elif what < .7:
            self.line(indent, begin % 24 +
                      f"reals[{i}] = {self.choice(f'reals[{i}] + 1.5', f'(double){value}', self.real(variables, 2))};")
        else:
            total = self.unused_name("v")
            kind, of = self.choice(("u", f"big[{i}]"), ("uchar", f"bytes[{i}]"), ("double", f"reals[{i} % 24]"),
                                   ("ulong", f"longs[{i} % 20]"), ("u", f"(big[{i}] > {value})"))
            self.line(indent, f"{ {**INTEGERS, **REALS}[kind]} {total} = 0;")
            variables.append((kind, total))
            self.line(indent, begin % self.choice("40", "36", f"({self.expression(variables, 2)} & 31)") + "{")
            self.line(indent, f"  {total} {self.choice('+=', '+=', '-=')} {of};")
            if self.random.random() < .6:
                self.region([*variables, ("counter", i)], indent + "  ")
            self.line(indent, "}")

    def walk(self, variables, indent):
        """A pointer through an array."""
        p = self.unused_name("w")
        array, count = self.choice(*((name, 8) for name in named(variables, "array")), ("garr", 8), ("big", 40), ("grid[1]", 8))
        down = self.random.random() < .3
        self.line(indent, f"for (u *{p} = {array}{f' + {count}' if down else ''}; {p} != "
                          f"{array}{'' if down else f' + {count}'};) {{")
        if down:
            self.line(indent, f"  --{p};")
        if self.random.random() < .6:
            self.line(indent, "  rdb_begin")
            self.regions += 1
            self.line(indent, f'    printf("R{self.regions} %d %u\\n", (int)({p} - {array}), *{p});')
            self.line(indent, "  rdb_end")
        self.inner([*variables, ("u *", p)], indent + "  ")
        if self.random.random() < .3:
            self.line(indent, f"  if ({self.expression(variables, 2)}) break;")
        if not down:
            self.line(indent, f"  {p}++;")
        self.line(indent, "}")

    def nested_loops(self, variables, indent, depth):
        i, j = self.unused_name("i"), self.unused_name("j")
        inside = [*variables, ("counter", i), ("counter", j)]
        self.line(indent, f"for (u {i} = 0; {i} < 4; {i}++) {{")
        self.inner([*variables, ("counter", i)], indent + "  ")
        self.line(indent, f"  for (u {j} = 0; {j} < {self.choice('8', f'{i} + 1')}; {j}++) {{")
        self.line(indent, f"    grid[{i}][{j}] {self.choice('=', '+=')} "
                          f"{self.choice(f'grid[{j} & 3][{i}]', f'{i} * {j}', self.expression(inside, 2))};")
        self.inner(inside, indent + "    ")
        self.line(indent, "  }")
        if self.random.random() < .3:
            self.region([*variables, ("counter", i)], indent + "  ")
        self.line(indent, "}")

    def jump(self, variables, indent, depth):
        to, n = self.unused_name("l"), self.unused_name("n")
        if self.random.random() < .5:
            self.line(indent, f"u {n} = 0; {to}:;")
            self.block(variables, indent, depth + 2, False)
            self.line(indent, f"if (++{n} < {self.random.randint(2, 5)} && {self.expression(variables, 1)}) goto {to};")
            variables.append(("counter", n))
        else:
            self.line(indent, f"if ({self.expression(variables, 1)}) goto {to};")
            self.line(indent, "{")
            self.block(variables, indent + "  ", depth + 1, False)
            self.line(indent, f"}} {to}:;")

    def while_loop(self, variables, indent, depth):
        n = self.unused_name("n")
        self.line(indent, f"u {n} = {self.expression(variables, 1)} & 7;")
        inside = [*variables, ("counter", n)]
        if self.random.random() < .5:
            self.line(indent, f"while ({n}-- > 0) {{")
            self.block(inside, indent + "  ", depth + 1, True)
            self.line(indent, "}")
        else:
            self.line(indent, "do {")
            self.block(inside, indent + "  ", depth + 1, True)
            self.line(indent, f"}} while ({n}++ < 6 && {self.expression(inside, 1)});")
        variables.append(("counter", n))

    def large_switch(self, variables, indent):
        """One that becomes a table of values or of jumps."""
        place = self.place(variables)
        self.line(indent, f"switch ({self.expression(variables, 1)} % 9) {{")
        for case in range(8):
            value = self.choice(str(self.random.randrange(100)),
                                self.expression(variables, 2)) if self.random.random() < .4 else str(case * 7 + 1)
            self.line(indent, f"case {case}: {place} = {value};")
            if self.random.random() < .15:
                self.region(variables, indent + "  ")
            if self.random.random() < .85:
                self.line(indent, "  break;")
        self.line(indent, f"default: {place} ^= 5;" if self.random.random() < .5 else "default:;")
        self.line(indent, "}")

    # Functions.

    def add_function(self, number):
        super().add_function(number)
        if self.random.random() < .5:
            self.add_recursion(number)
        if self.random.random() < .6:
            self.add_maker(number)

    def spelled(self, type_):
        return INTEGERS.get(type_, type_)

    def add_recursion(self, number):
        parameters = [("counter", "depth"), ("u", "p0"), (self.random.choice(self.parameters), "p1")]
        self.body, self.names = [], 0
        self.block(parameters, "  ", 2, False)
        again = f"r{number}(depth + 1, {self.expression(parameters, 1)}, {self.argument(parameters[2][0], parameters)})"
        self.line("  ", self.choice(f"if (depth < 3) p0 += {again};", f"if (depth < 3) return {again};",
                                    f"if (depth < 2) p0 = {again} + {again};"))
        self.block(parameters, "  ", 2, False)
        kind = self.choice("static ", "", "static __attribute__((noinline)) ")
        heading = self.heading(kind, "u", f"r{number}", [("u", "depth"), *parameters[1:]])
        self.text += [heading, *self.body, f"  return {self.expression(parameters)};\n}}\n"]
        name = f"q{number}"  # nobody else says how deep
        self.text.append(f"static u {name}(u p0) {{ return r{number}(1, p0, {self.argument(parameters[2][0], [])}); }}\n")
        self.declare(name, [("u", "p0")])

    def add_maker(self, number):
        parameters = [(self.random.choice(self.parameters), f"p{k}") for k in range(self.random.randint(1, 3))]
        result = self.random.choice(list(SMALL))
        self.body, self.names = [], 0
        self.line("  ", f"{result} made = {self.choice(*GLOBAL_STRUCTURES[result])};")
        inside = [*parameters, (result, "made")]
        # A return in the middle returns that, too.
        self.block(inside, "  ", 1, False)
        self.body = [line.replace(" return ", " { made.%s = " % SMALL[result][0]).rstrip("\n") + " return made; }\n"
                     if " return " in line else line
                     for line in self.body]
        kind = self.choice("static ", "__attribute__((noinline)) ", "static inline __attribute__((always_inline)) ")
        self.text += [self.heading(kind, result, f"m{number}", parameters), *self.body, "  return made;\n}\n"]
        self.makers.append((f"m{number}", result, [type_ for type_, _ in parameters]))
        self.work[f"m{number}"], self.own_work = self.own_work, 0

    def main_argument(self, kind):
        if kind in INTEGERS:
            return "x + i"
        if kind in REALS:
            return "x * 0.75"
        return GLOBAL_STRUCTURES[kind][0] if kind in SMALL else super().main_argument(kind)


def generate(seed):
    return "".join(WideProgram(seed).text)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
