# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C programs as of random_c_program.py, with variables that others change: functions keep their addresses for as
long as they live and write to them later, in calls of other functions too; structures lead to them; they are written to in
parts, by atomic operations, and through pointers of which nobody knows to which of two variables they lead. Calls may leave
by an exception (-fexceptions), as far as the compiler knows.

    random_kept_program.py SEED      prints one
"""
import sys

from random_c_program import TYPES, Program, named

KEEPING = TYPES + r"""
struct H { u *p; u **pp; };
static u *kept[64]; static u depth;
__attribute__((noinline)) u *keep(u *p) { kept[depth++ & 63] = p; return p; }
__attribute__((noinline)) void forget(u **p) { depth--; *p = 0; }
__attribute__((noinline)) u change(u n) { if (depth == 0 || depth > 63) return n; *kept[n % depth] += n; return *kept[(n >> 3) % depth]; }
__attribute__((noinline)) void behind(struct H *h, u n) { *h->p = n; if (n & 1) **h->pp ^= 5; }
__attribute__((noinline)) void exchange(u *a, u *b) { u t = *a; *a = *b; *b = t; }
__attribute__((noinline)) void set(u *a, u n) { *a = n; }
"""


class KeptProgram(Program):
    types = KEEPING

    def declaration(self, variables, indent):
        if self.random.random() < .5:
            return super().declaration(variables, indent)
        name = self.unused_name("v")
        self.line(indent, f"u {name} = {self.expression(variables)};")
        self.line(indent, f"u *k{name} __attribute__((cleanup(forget))) = keep(&{name});")
        variables.append(("u", name))

    def place_of_word(self, variables):
        return self.choice(*named(variables, "u"), "g0", "h1", "garr[3]")

    def statement(self, variables, indent, depth, in_loop):
        what = self.random.random()
        value = self.expression(variables, 1)
        one, other = self.place_of_word(variables), self.place_of_word(variables)
        if what < .65:
            super().statement(variables, indent, depth, in_loop)
        elif what < .75:
            self.line(indent, self.choice("", f"{self.place(variables)} = ") + f"change({value});")
        elif what < .8:
            self.line(indent, f"set({self.choice(f'&{one}', f'{value} & 1 ? &{one} : &{other}')}, {value});")
        elif what < .85:
            name = self.unused_name("w")
            self.line(indent, f"struct H {name} = {{&{one}, &{name}.p}}; behind(&{name}, {value});")
        elif what < .89:
            self.line(indent, f"exchange(&{one}, &{other});")
        elif what < .93:
            self.line(indent, f"((unsigned char *)&{one})[{value} & 3] = {value};")
        elif what < .96:
            self.line(indent, f"__atomic_fetch_{self.choice('add', 'xor')}(&{one}, {value}, __ATOMIC_SEQ_CST);")
        elif what < .98:
            self.line(indent, f"*({value} & 1 ? &{one} : &{other}) {self.choice('=', '+=')} {value};")
        else:
            self.line(indent, f"memmove((char *)&{one} + {self.choice(0, 1, 2)}, &{other}, {self.choice(1, 2)});")


def generate(seed):
    return "".join(KeptProgram(seed).text)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
