# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C programs with debug regions that print: structures, unions, bit-fields, pointers to them, nested loops and
switches, functions that are inlined or not. They end, and nothing in them is undefined, so that every compile of one
prints the same (with -ftrivial-auto-var-init=zero).

    random_c_program.py SEED      prints one
"""
import random
import sys

TYPES = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
typedef unsigned u;
struct N { u d; u e; };
struct S { u a, b; unsigned short c; struct N n; unsigned char f[6]; unsigned bits : 5; };
union U { u i; unsigned char b[4]; unsigned short h[2]; float f; };
u g0 = 3, g1 = 7, g2 = 11; static u h0 = 5, h1 = 9; struct S gs = {1,2,3,{4,5},{6,7,8}, 3}; static struct S hs = {9,8,7,{6,5},{4,3}, 1}; u garr[8] = {1,2,3,4,5,6,7,8}; static u harr[8];
unsigned char gb[16]; unsigned long gl = 100; volatile u gv = 2; u *gp = &g1; union U gu;
"""
GLOBALS = ["g0", "g1", "g2", "h0", "h1", "gs.a", "gs.b", "gs.n.d", "hs.a", "hs.n.e", "garr[%d]", "harr[%d]", "gs.c", "gs.f[2]",
           "gs.bits", "hs.bits", "gb[%d]", "gu.h[1]", "gu.b[2]"]
PARAMETERS = ["u", "u", "u", "struct S", "struct S *", "u *", "union U"]
KINDS = ["static ", "static ", "static ", "__attribute__((noinline)) ", "static __attribute__((noinline)) ", "",
         "static inline __attribute__((always_inline)) "]
CONSTANTS = [0, 1, 2, 3, 5, 7, 16, 255, 1000, 0x80000000]


def named(variables, *types):
    return [name for kind, name in variables if kind in types]


class Program:
    """Variables are pairs of type and name; of type "counter" are those of loops, which are not written to, and of type
    "array" those with eight elements."""

    types = TYPES
    parameters = PARAMETERS

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = []  # name, types of the parameters
        self.regions = 0
        self.text = [self.types]
        for number in range(self.random.randint(3, 6)):
            self.add_function(number)
        self.add_main()

    def choice(self, *options):
        return self.random.choice(options)

    def unused_name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def line(self, indent, text):
        self.body.append(f"{indent}{text}\n")

    # Expressions.

    def global_scalar(self):
        name = self.random.choice(GLOBALS)
        return name % self.random.randrange(8) if "%" in name else name

    def scalars(self, variables, written=False):
        found = []
        for kind, name in variables:
            if kind == "u" or (kind == "counter" and not written):
                found.append(name)
            elif kind == "struct S":
                found += [name + ".a", name + ".b", name + ".n.d", name + ".n.e", name + ".c",
                          f"{name}.f[{self.random.randrange(6)}]", name + ".bits"]
            elif kind == "struct S *":
                found += [name + "->a", name + "->n.d", name + "->c", name + "->bits"]
            elif kind == "u *":
                found.append("*" + name)
            elif kind == "array":
                found.append(f"{name}[{self.random.randrange(8)}]")
            elif kind == "union U":
                found += [name + ".i", name + ".b[1]", name + ".h[1]"]
        return found

    def leaf(self, scalars):
        return self.random.choice(scalars) if scalars and self.random.random() < .75 else self.global_scalar()

    def expression(self, variables, depth=0):
        def operand():
            return self.expression(variables, depth + 1)

        what = self.random.random()
        scalars = self.scalars(variables)
        if depth > 2 or what < .35:
            return self.leaf(scalars)
        if what < .45:
            return f"{self.random.choice(CONSTANTS)}u"
        if what < .8:
            left, operator = operand(), self.choice("+", "-", "*", "^", "&", "|")
            return f"({left} {operator} {operand()})"
        if what < .85:
            return f"({operand()} >> {self.random.randrange(1, 9)})"
        if what < .9:
            left, operator = operand(), self.choice("<", "==", "!=", ">=")
            return f"({left} {operator} {operand()})"
        if what < .94:
            return f"({operand()} ? {operand()} : {operand()})"
        if what < .97:
            return f"{self.choice('garr', 'harr')}[{operand()} & 7]"
        return f"({operand()} % ({operand()} | 1))"

    def place(self, variables):
        """Something to assign to."""
        scalars = self.scalars(variables, written=True)
        return self.random.choice(scalars) if scalars and self.random.random() < .65 else self.global_scalar()

    def argument(self, kind, variables):
        structures = named(variables, "struct S")
        if kind == "u":
            return self.expression(variables, 1)
        if kind == "struct S":
            return self.choice(*structures, "gs", "hs")
        if kind == "struct S *":
            return self.choice(*("&" + name for name in structures), *named(variables, "struct S *"), "&gs", "&hs")
        if kind == "u *":
            return self.choice(*("&" + name for name in named(variables, "u")), *named(variables, "u *"), "&g0", "&h1", "gp",
                               "&garr[3]", "&gs.b", *(name + "+2" for name in named(variables, "array")))
        return self.choice(*named(variables, "union U"), "gu")

    def call(self, variables):
        name, parameters = self.random.choice(self.functions)
        return f"{name}({', '.join([self.argument(kind, variables) for kind in parameters])})"

    # Statements.

    def region(self, variables, indent):
        self.regions += 1
        values = []
        for _ in range(self.choice(1, 1, 1, 2, 3)):
            what = self.random.random()
            scalars = self.scalars(variables)
            values.append(self.random.choice(scalars) if scalars and what < .7 else self.global_scalar())
        self.line(indent, "rdb_begin")
        self.line(indent, f'  printf("R{self.regions} {" ".join("%u" for _ in values)}\\n", '
                          f'{", ".join(f"(u)({value})" for value in values)});')
        self.line(indent, "rdb_end")

    def declaration(self, variables, indent):
        name, what = self.unused_name("v"), self.random.random()
        if what < .5:
            self.line(indent, f"u {name} = {self.expression(variables)};")
            variables.append(("u", name))
        elif what < .65:
            value = self.choice("gs", "hs", "{1,2,3,{4,5}}", "{0}", *named(variables, "struct S"),
                                *("*" + other for other in named(variables, "struct S *")))
            self.line(indent, f"struct S {name} = {value};")
            variables.append(("struct S", name))
        elif what < .75:
            self.line(indent, f"u {name}[8] = {{{self.expression(variables, 1)}, {self.expression(variables, 1)}}};")
            variables.append(("array", name))
        elif what < .85:
            target = self.choice(*("&" + other for other in named(variables, "u")), "&g2", "&garr[5]", "&hs.b", "gp")
            self.line(indent, f"u *{name} = {target};")
            variables.append(("u *", name))
        elif what < .93:
            self.line(indent, f"union U {name}; {name}.i = {self.expression(variables, 1)};")
            variables.append(("union U", name))
        else:
            target = self.choice(*("&" + other for other in named(variables, "struct S")), "&gs", "&hs")
            self.line(indent, f"struct S *{name} = {target};")
            variables.append(("struct S *", name))

    def short_loop(self, variables, indent):
        """One that can be made of vector instructions."""
        i = self.unused_name("k")
        arrays = ["garr", "harr", *named(variables, "array")]
        to, source, what = self.random.choice(arrays), self.random.choice(arrays), self.random.random()
        if what < .4:
            operator, value = self.choice(*"+*^-"), self.choice(i, self.expression(variables, 2))
            self.line(indent, f"for (u {i} = 0; {i} < 8; {i}++) {to}[{i}] = {source}[{i}] {operator} {value};")
        elif what < .7:
            total = self.unused_name("v")
            self.line(indent, f"u {total} = 0;")
            self.line(indent, f"for (u {i} = 0; {i} < 8; {i}++) {{")
            self.line(indent, f"  {total} += {to}[{i}];")
            variables.append(("u", total))
            if self.random.random() < .5:
                self.region([*variables, ("counter", i)], indent + "  ")
            self.line(indent, "}")
        else:
            self.line(indent, f"for (u {i} = 0; {i} < 16; {i}++) gb[{i}] = {self.choice('0', i, f'gb[15-{i}]')};")

    def switch(self, variables, indent, depth, in_loop):
        self.line(indent, f"switch ({self.expression(variables, 1)} & 3) {{")
        for case in range(self.random.randint(2, 4)):
            self.line(indent, f"case {case}: {{" if case < 3 else "default: {")
            if self.random.random() < .4:
                self.line(indent, f"  {self.place(variables)} = {self.random.randrange(50)};")
            else:
                self.block(variables, indent + "  ", depth + 2, in_loop)
            self.line(indent, "}" + (" break;" if self.random.random() < .8 else ""))
        self.line(indent, "}")

    def copy(self, variables, indent):
        structures = [*named(variables, "struct S"), "gs", "hs"]
        to, source = self.random.choice(structures), self.random.choice(structures)
        filled = self.choice(0, 1, 255)
        self.line(indent, self.choice(f"{to} = {source};", f"memmove(&{to}, &{source}, sizeof(struct S));",
                                      f"memset(&{to}, {filled}, sizeof {to});", f"{to}.n = {source}.n;"))

    def statement(self, variables, indent, depth, in_loop):
        what = self.random.random()
        if what < .16:
            self.declaration(variables, indent)
        elif what < .45:
            place, operator = self.place(variables), self.choice("=", "=", "=", "+=", "^=", "-=", "*=")
            self.line(indent, f"{place} {operator} {self.expression(variables)};")
        elif what < .57 and depth < 3:
            self.line(indent, f"if ({self.expression(variables)}) {{")
            self.block(variables, indent + "  ", depth + 1, in_loop)
            if self.random.random() < .6:
                self.line(indent, "} else {")
                self.block(variables, indent + "  ", depth + 1, in_loop)
            self.line(indent, "}")
        elif what < .67 and depth < 2:
            i = self.unused_name("i")
            count = self.choice(f"{self.random.randint(1, 6)}", f"({self.expression(variables, 1)} & 7)", "8")
            self.line(indent, f"for (u {i} = 0, n{i} = {count}; {i} < n{i}; {i}++) {{")
            self.block([*variables, ("counter", i)], indent + "  ", depth + 1, True)
            self.line(indent, "}")
        elif what < .72:
            self.short_loop(variables, indent)
        elif what < .77 and depth < 2:
            self.switch(variables, indent, depth, in_loop)
        elif what < .87 and self.functions:
            function = self.random.choice(self.functions)
            result = self.choice(f"{self.place(variables)} = ", "", f"{self.place(variables)} += ")
            arguments = ", ".join([self.argument(kind, variables) for kind in function[1]])
            self.line(indent, f"{result}{function[0]}({arguments});")
        elif what < .9:
            self.copy(variables, indent)
        elif what < .915:
            self.line(indent, f"gv = {self.expression(variables, 1)};")
        elif what < .93:
            self.line(indent, f"gp = {self.choice('&g0', '&g1', '&h0', '&gs.a', '&garr[2]')};")
        elif what < .95 and in_loop:
            self.line(indent, f"if ({self.expression(variables)}) {self.choice('continue', 'break')};")
        elif what < .965:
            self.line(indent, f"if ({self.expression(variables)}) return {self.expression(variables, 1)};")
        elif what < .98:
            one, other = self.place(variables), self.place(variables)
            self.line(indent, f"{{ u t = {one}; {one} = {other}; {other} = t; }}")
        else:
            self.line(indent, f'printf("P %u\\n", {self.expression(variables, 1)});')

    def block(self, variables, indent, depth, in_loop):
        variables = list(variables)
        for _ in range(self.random.randint(2, 5 if depth < 2 else 3)):
            if self.random.random() < .4:
                self.region(variables, indent)
            self.statement(variables, indent, depth, in_loop)
        if self.random.random() < .4:
            self.region(variables, indent)

    # Functions.

    def add_function(self, number):
        parameters = [(self.random.choice(self.parameters), f"p{k}") for k in range(self.random.randint(1, 3))]
        kind = self.random.choice(KINDS)
        self.body, self.names = [], 0
        self.block(parameters, "  ", 0, False)
        end = self.call(parameters) if self.random.random() < .4 and self.functions else self.expression(parameters)
        self.text += [self.heading(kind, "u", f"f{number}", parameters), *self.body, f"  return {end};\n}}\n"]
        self.declare(f"f{number}", parameters)

    def declare(self, name, parameters):
        self.functions.append((name, [type_ for type_, _ in parameters]))

    def spelled(self, type_):
        return type_

    def heading(self, kind, result, name, parameters):
        words = [f"{self.spelled(type_)}{'' if type_.endswith('*') else ' '}{parameter}" for type_, parameter in parameters]
        return f"{kind}{result} {name}({', '.join(words)}) {{\n"

    def main_argument(self, kind):
        return {"u": "x + i", "struct S": "m", "struct S *": "&m", "u *": "&x", "union U": "gu"}[kind]

    def add_main(self):
        self.text.append("int main(int argc, char **argv) {\n  (void)argv;\n  u x = argc; struct S m = {argc, 2, 3, {4, 5}};\n"
                         "  for (u i = 0; i < 2; i++) {\n")
        self.text += [f'    x += {name}({", ".join(self.main_argument(kind) for kind in parameters)});\n    printf("%u '
                      f'%u\\n", x, m.a);\n'
                      for name, parameters in self.functions]
        self.text.append("  }\n  return 0;\n}\n")


def generate(seed):
    return "".join(Program(seed).text)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
