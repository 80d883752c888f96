# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C++ programs with debug regions that print: classes with virtual and other member functions, constructors and
destructors that do something, references, lambdas, exceptions, templates, containers. They end, and nothing in them is
undefined.

    random_cxx_program.py SEED      prints one
"""
import random
import re
import sys

from random_c_program import Program

TYPES = r"""#include <rdb/rdb.h>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>
using u = unsigned;
u g0 = 3, g1 = 7; static u h0 = 5; static u harr[8] = {4, 3, 2, 1};
struct Point { u x, y; Point operator+(const Point &o) const { return {x + o.x, y ^ o.y}; } };
struct Error { u code; };
struct Guard {
  u &target; u by;
  Guard(u &t, u b) : target(t), by(b) { target += by; }
  ~Guard() { target ^= by; }
};
template <class T> struct Box {
  T value; u count = 0;
  explicit Box(T v) : value(v) {}
  T &get() { ++count; return value; }
  const T &peek() const { return value; }
};
Point gp{1, 2};
std::vector<u> gvec{5, 6, 7, 8}; std::string gtext = "abc";
"""
CONSTANTS = [0, 1, 2, 3, 5, 7, 16, 255, 1000, 0x80000000]
GLOBALS = ["g0", "g1", "h0", "gp.x", "gp.y", "harr[2]", "harr[5]"]
MOST_WORK = 5000  # statements that a call may lead to
INLINING = ["", "", "__attribute__((noinline)) ", "__attribute__((always_inline)) inline "]


class CxxProgram(Program):
    """Variables are pairs of kind and name. Of kind "counter" are those that are not written to."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.text = [TYPES]
        self.functions = []  # name, kinds of the parameters
        self.work = {}  # about how many statements a call of a function leads to
        self.turns, self.own_work = 1, 0  # of the loops around a statement; statements so far
        self.classes = []
        self.regions = 0
        self.depth_of_tries = 0
        for number in range(self.random.randint(1, 2)):
            self.add_classes(number)
        for number in range(self.random.randint(3, 5)):
            self.add_function(number)
        self.add_main()

    def chance(self, probability):
        return self.random.random() < probability

    def line(self, indent, text):
        self.body.append(f"{indent}{text}\n")
        called = sum(self.work.get(name, 0) for name in re.findall(r"\b(f\d+|both\d+)\b", text))
        self.own_work += self.turns * (1 + called)

    def declare(self, name, kinds):
        self.functions.append((name, kinds))
        self.work[re.match(r"\w+", name)[0]], self.own_work = self.own_work, 0

    def callable(self):
        """Only so much is called in loops as comes to an end."""
        return [function for function in self.functions if self.work[re.match(r"\w+", function[0])[0]] * self.turns < MOST_WORK]

    # Expressions.

    def scalars(self, variables, written=False):
        found = []
        for kind, name in variables:
            if kind == "u" or (kind == "counter" and not written):
                found.append(name)
            elif kind == "Point" or (kind == "constant" and not written):
                found += [name + ".x", name + ".y"]
            elif kind == "Point *":
                found.append(name + "->y")
            elif kind == "array":
                found.append(f"{name}[{self.random.randrange(4)}]")
            elif kind == "vector" and not written:
                found.append(f"(u){name}.size()")
            elif kind == "Box":
                found += [name + ".value", name + ".count"]
            elif kind == "object":
                found += [name + ".a", name + ".b"]
            elif kind == "optional" and not written:
                found.append(f"{name}.value_or(9)")
        return found

    def expression(self, variables, depth=0):
        def operand():
            return self.expression(variables, depth + 1)

        what = self.random.random()
        if depth > 2 or what < .4:
            scalars = self.scalars(variables)
            return self.random.choice(scalars) if scalars and self.chance(.75) else self.random.choice(GLOBALS)
        if what < .5:
            return f"{self.random.choice(CONSTANTS)}u"
        if what < .85:
            left, operator = operand(), self.choice("+", "-", "*", "^", "&", "|")
            return f"({left} {operator} {operand()})"
        if what < .9:
            return f"({operand()} >> {self.random.randrange(1, 9)})"
        if what < .95:
            return f"({operand()} {self.choice('<', '==', '!=')} {operand()} ? {operand()} : {operand()})"
        return f"({operand()} % ({operand()} | 1))"

    def place(self, variables):
        scalars = self.scalars(variables, written=True)
        return self.random.choice(scalars) if scalars and self.chance(.7) else self.random.choice(GLOBALS)

    def named(self, variables, *kinds):
        return [name for kind, name in variables if kind in kinds]

    def argument(self, kind, variables):
        if kind == "u":
            return self.expression(variables, 1)
        if kind == "u &":
            return self.choice(*self.named(variables, "u"), "g0", "harr[3]", "gp.y")
        if kind in ("Point", "const Point &"):
            points = self.named(variables, "Point")
            made = f"Point{{{self.expression(variables, 2)}, {self.expression(variables, 2)}}}"
            return self.choice(*points, "gp", made, *(f"({point} + gp)" for point in points))
        if kind == "Point *":
            return self.choice(*("&" + name for name in self.named(variables, "Point")), *self.named(variables, "Point *"), "&gp")
        return self.choice(*self.named(variables, "vector"), "gvec")  # std::vector<u> &

    def call(self, variables):
        name, kinds = self.random.choice(self.callable())
        return f"{name}({', '.join(self.argument(kind, variables) for kind in kinds)})"

    # Statements.

    def region(self, variables, indent):
        self.regions += 1
        values = []
        for _ in range(self.choice(1, 1, 2, 3)):
            scalars = self.scalars(variables)
            values.append(self.random.choice(scalars) if scalars and self.chance(.8) else self.random.choice(GLOBALS))
        self.line(indent, "rdb_begin")
        if self.named(variables, "vector") and self.chance(.3):
            vector = self.random.choice(self.named(variables, "vector"))
            self.line(indent, f"  u s = 0; for (u q : {vector}) s = s * 31 + q;")
            values.append("s")
        self.line(indent, f'  printf("R{self.regions} {" ".join("%u" for _ in values)}\\n", '
                          f'{", ".join(f"(u)({value})" for value in values)});')
        self.line(indent, "rdb_end")

    def declaration(self, variables, indent):
        name, what = self.unused_name("v"), self.random.random()
        if what < .3:
            self.line(indent, f"{self.choice('u', 'auto')} {name} = 0u + {self.expression(variables)};")
            variables.append(("u", name))
        elif what < .42:
            self.line(indent, f"Point {name} = {self.argument('Point', variables)};")
            variables.append(("Point", name))
        elif what < .5:
            self.line(indent, f"u &{name} = {self.argument('u &', variables)};")
            variables.append(("u", name))
        elif what < .58:
            self.line(indent, f"std::array<u, 4> {name}{{{self.expression(variables, 1)}, {self.expression(variables, 1)}, 3u}};")
            variables.append(("array", name))
        elif what < .66:
            self.line(indent, f"std::vector<u> {name}{{{self.expression(variables, 1)}, {self.expression(variables, 1)}}};")
            variables.append(("vector", name))
        elif what < .74:
            self.line(indent, f"Box<u> {name}({self.expression(variables, 1)});")
            variables.append(("Box", name))
        elif what < .8:
            self.line(indent, f"std::optional<u> {name}; if ({self.expression(variables, 1)}) {name} = "
                              f"{self.expression(variables, 1)};")
            variables.append(("optional", name))
        elif what < .86:
            self.line(indent, f"Point *{name} = {self.argument('Point *', variables)};")
            variables.append(("Point *", name))
        elif what < .92:
            other = self.unused_name("v")
            self.line(indent, f"auto [{name}, {other}] = {self.argument('Point', variables)};")
            # Bindings are named by debug code no more than by lambdas.
            kept = self.unused_name("v")
            self.line(indent, f"u {kept} = {name} - {other};")
            variables.append(("u", kept))
        else:
            self.line(indent, f"{self.random.choice(self.classes)} {name}({self.expression(variables, 1)}, "
                              f"{self.expression(variables, 1)});")
            variables.append(("object", name))

    def lambda_(self, variables, indent, depth):
        lambda_name, result = self.unused_name("l"), self.unused_name("v")
        # Debug code may use what the program's lambda captures by name.
        by_reference = self.chance(.6)
        outer = {name: kind for kind,
                 name in variables if name not in ("p", "N") and (by_reference or kind in ("u", "counter", "Point *"))}
        chosen = self.random.sample(sorted(outer), min(len(outer), self.random.randint(1, 4)))
        # Members are reached by a captured `this`, which a region cannot always be given.
        chosen = [name for name in chosen if name not in ("a", "b")]
        inside = [(outer[name] if by_reference or outer[name] == "Point *" else "counter", name) for name in chosen]
        captures = [("&" if by_reference else "") + name for name in chosen]
        self.line(indent, f"auto {lambda_name} = [{', '.join(captures)}](u p) {{")
        self.block([*inside, ("u", "p")], indent + "  ", depth + 2, False)
        self.line(indent, f"  return {self.expression([*inside, ('u', 'p')], 1)};")
        self.line(indent, "};")
        self.line(indent, f"u {result} = {lambda_name}({self.expression(variables, 1)}) + "
                          f"{lambda_name}({self.choice('1u', '2u')});")
        variables.append(("u", result))

    def attempt(self, variables, indent, depth):
        self.line(indent, "try {")
        self.depth_of_tries += 1
        self.block(variables, indent + "  ", depth + 1, False)
        if self.chance(.7):
            self.line(indent, f"  if ({self.expression(variables, 1)}) throw Error{{{self.expression(variables, 1)}}};")
        if self.chance(.5):
            self.region(variables, indent + "  ")
        self.depth_of_tries -= 1
        self.line(indent, "} catch (const Error &error) {")
        self.line(indent, "  u code = error.code;")
        self.block([*variables, ("u", "code")], indent + "  ", depth + 2, False)
        self.line(indent, "}")

    def statement(self, variables, indent, depth, in_loop):
        what = self.random.random()
        if what < .2:
            self.declaration(variables, indent)
        elif what < .42:
            self.line(indent, f"{self.place(variables)} {self.choice('=', '=', '+=', '^=', '*=')} {self.expression(variables)};")
        elif what < .52 and depth < 3:
            self.line(indent, f"if ({self.expression(variables)}) {{")
            self.block(variables, indent + "  ", depth + 1, in_loop)
            if self.chance(.5):
                self.line(indent, "} else {")
                self.block(variables, indent + "  ", depth + 1, in_loop)
            self.line(indent, "}")
        elif what < .6 and depth < 2:
            self.loop(variables, indent, depth)
        elif what < .66 and depth < 2:
            self.lambda_(variables, indent, depth)
        elif what < .72 and depth < 2:
            self.attempt(variables, indent, depth)
        elif what < .82 and self.callable():
            self.line(indent, f"{self.place(variables)} {self.choice('=', '+=')} {self.call(variables)};")
        elif what < .86:
            vector = self.choice(*self.named(variables, "vector"), "gvec")
            self.line(indent, self.choice(f"{vector}.push_back({self.expression(variables, 1)});",
                                          f"if ({vector}.size() > 3) {vector}.pop_back();",
                                          f"if (!{vector}.empty()) {vector}.back() += {self.expression(variables, 1)};"))
        elif what < .9:
            name = self.unused_name("w")
            self.line(indent, f"Guard {name}({self.argument('u &', variables)}, {self.expression(variables, 1)});")
        elif what < .95 and self.named(variables, "object", "Box"):
            objects = [f"{name}.{self.choice('change', 'look', 'step')}({self.expression(variables, 1)})"
                       for name in self.named(variables, "object")]
            boxes = [f"{name}.get() ^ {name}.peek()" for name in self.named(variables, "Box")]
            self.line(indent, f"{self.place(variables)} += {self.random.choice(objects + boxes)};")
        elif what < .97 and in_loop:
            self.line(indent, f"if ({self.expression(variables)}) {self.choice('continue', 'break')};")
        elif self.depth_of_tries > 0:
            self.line(indent, f"if ({self.expression(variables)}) throw Error{{{self.expression(variables, 1)}}};")
        else:
            self.line(indent, f'printf("P %u\\n", {self.expression(variables, 1)});')

    def loop(self, variables, indent, depth):
        i = self.unused_name("i")
        self.turns *= 6
        if self.chance(.5):
            self.line(indent, f"for (u {i} = 0; {i} < {self.random.randint(2, 7)}; {i}++) {{")
            self.block([*variables, ("counter", i)], indent + "  ", depth + 1, True)
        else:
            array = self.choice("harr", *self.named(variables, "array"))
            reference = self.chance(.5)
            self.line(indent, f"for (u {'&' if reference else ''}{i} : {array}) {{")
            self.block([*variables, ("u", i)], indent + "  ", depth + 1, True)
        self.turns //= 6
        self.line(indent, "}")

    # Functions.

    def member(self, heading, variables, depth):
        self.body, self.names = [], 0
        self.block(variables, "    ", depth, False)
        self.text += [f"  {heading} {{\n", *self.body, f"    return {self.expression(variables)};\n  }}\n"]

    def add_classes(self, number):
        """A class and one that overrides a function of it."""
        own = [("u", "a"), ("u", "b"), ("u", "p")]
        base, derived = f"Base{number}", f"Derived{number}"
        saved, self.classes = self.classes, self.classes or ["Point2"]
        if self.classes == ["Point2"]:
            self.text.append("struct Point2 { u a, b; Point2(u x, u y) : a(x), b(y) {} u change(u p) { return a += p; } "
                             "u look(u p) const { return b ^ p; } u step(u p) { return b++ + p; } };\n")
        self.text.append(f"struct {base} "
                         f"{{\n  u a, b;\n  {base}(u x, u y) : a(x), b(y) {{}}\n  virtual ~{base}() {{ h0 += a; }}\n")
        self.member(f"{self.choice('virtual ', '')}{self.random.choice(INLINING)}u change(u p)", own, 1)
        self.member(f"{self.random.choice(INLINING)}u step(u p)", own, 1)
        self.member("virtual u look(u p)", own, 2)
        self.text += ["};\n", f"struct {derived} : {base} {{\n  using {base}::{base};\n"]
        self.member("u look(u p) override", own, 2)
        self.text.append("};\n")
        self.classes = [*saved, base, derived] if saved else ["Point2", base, derived]
        self.text.append(f"{self.choice('static ', '__attribute__((noinline)) ')}u through{number}({base} &o, u p) {{\n"
                         f"  u r = o.look(p);\n  rdb_begin\n    printf(\"T{number} %u %u %u\\n\", r, o.a, o.b);\n  rdb_end\n"
                         f"  return r + o.change(p) * 3;\n}}\n")
        self.text.append(f"static u both{number}(u p) "
                         f"{{ {derived} d(p, 2); {base} *o = &d; {base} e(3, p); "
                         f"return through{number}(*o, p) + through{number}(e, p); }}\n")
        self.declare(f"both{number}", ["u"])

    def add_function(self, number):
        kinds = [self.choice("u", "u", "u &", "Point", "const Point &", "Point *", "std::vector<u> &")
                 for _ in range(self.random.randint(1, 3))]
        as_variable = {"u &": "u", "const Point &": "constant", "std::vector<u> &": "vector"}
        variables = [(as_variable.get(kind, kind), f"p{k}") for k, kind in enumerate(kinds)]
        self.body, self.names = [], 0
        is_template = self.chance(.2)
        if is_template:
            variables.append(("counter", "N"))
        throws = self.chance(.3)
        self.depth_of_tries = 1 if throws else 0
        self.block(variables, "  ", 0, False)
        end = self.call(variables) if self.callable() and self.chance(.4) else self.expression(variables)
        self.depth_of_tries = 0
        words = ", ".join(f"{kind} p{k}" for k, kind in enumerate(kinds))
        kind = self.choice("static ", "static ", "", "__attribute__((noinline)) ", "static __attribute__((noinline)) ",
                           "static inline __attribute__((always_inline)) ")
        name = f"{'t' if throws else 'f'}{number}"
        self.text += ["template <u N> " if is_template else "", f"{kind}u {name}({words}) {{\n", *self.body,
                      f"  return {end};\n}}\n"]
        if is_template:
            name = f"{name}<{self.random.randrange(9)}>"
        if throws:
            self.text.append(f"static u f{number}({words}) "
                             f"{{\n  try {{ return {name}({', '.join(f'p{k}' for k in range(len(kinds)))}); }}\n"
                             f"  catch (const Error &e) "
                             f"{{\n    u code = e.code;\n    rdb_begin\n      printf(\"E{number} %u %u\\n\", code, e.code);\n"
                             f"    rdb_end\n    return code;\n  }}\n}}\n")
            name = f"f{number}"
        self.declare(name, kinds)

    def add_main(self):
        arguments = {"u": "x + i", "u &": "x", "Point": "m", "const Point &": "m", "Point *": "&m", "std::vector<u> &": "list"}
        self.text.append("int main(int argc, char **) {\n  u x = argc; Point m{x, 2}; std::vector<u> list{x, 4, 9};\n"
                         "  for (u i = 0; i < 2; i++) {\n")
        self.text += [f'    x += {name}({", ".join(arguments[kind] for kind in kinds)});\n    printf("%u %u\\n", x, m.y);\n'
                      for name, kinds in self.functions]
        self.text.append("  }\n  return 0;\n}\n")


def generate(seed):
    return "".join(CxxProgram(seed).text)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
