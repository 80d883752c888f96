# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random C programs of comparisons and choices: variables that are true or false, or depend on such, of which later code
needs some only under conditions. Optimisers make other values of them then, that are the same wherever they are needed. The
functions are called with all small arguments.

    random_choices_program.py SEED      prints one
"""
import random
import sys

FUNCTIONS = 12
MAIN = """int main(void) {
  for (int x = 0; x < 8; x++)
    for (int z = 0; z < 8; z++)
      for (int y = 0; y < 3; y++) {
CALLS
      }
  return sink == 12345;
}
"""


class ChoicesProgram:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.regions = 0
        self.text = ["#include <rdb/rdb.h>\n#include <stdio.h>\nint sink;\n"]
        for number in range(FUNCTIONS):
            self.function(number)
        calls = "\n".join(f"        sink += f{number}(x, z, y);" for number in range(FUNCTIONS))
        self.text.append(MAIN.replace("CALLS", calls))

    def comparison(self, numbers):
        one, other, constant = self.random.choice(numbers), self.random.choice(numbers), self.random.randrange(9)
        return self.random.choice([
            f"({one} == {constant})", f"({one} == {constant})", f"({one} != {constant})", f"({one} != {constant})",
            f"((unsigned){one} < {constant + 1}u)", f"({one} > {constant})", f"(({one} & {1 << constant % 3}) == 0)",
            f"({one} == {other})", f"({one} < {other})", f"({one} != {other})"])

    def truth(self, numbers, truths, depth=0):
        what = self.random.random()
        if what < .33 or depth > 2:
            return self.comparison(numbers)
        if what < .42:
            return self.random.choice(truths or ["x"])
        one, other = self.truth(numbers, truths, depth + 1), self.truth(numbers, truths, depth + 1)
        if what < .83:
            return f"({one} {self.random.choice(['&&', '&&', '||', '&'])} {other})"
        return f"!{one}" if what < .9 else f"({self.comparison(numbers)} ? {one} : {other})"

    def number(self, numbers, truths):
        one, other, constant = self.random.choice(numbers), self.random.choice(numbers), self.random.randrange(9)
        return self.random.choice([
            f"{one} + {other}", f"{one} - {constant}", f"{one} & {constant}", f"{one} | {constant}", f"{one} ^ {other}",
            f"{one} % {constant + 1}u",
            f"({self.comparison(numbers)} ? {one} : {other})", f"({self.comparison(numbers)} ? {one} + {constant} : {constant})",
            f"({self.truth(numbers, truths)} ? {constant} : {other})"])

    def region(self, name):
        self.text.append(f'  rdb_begin\n  printf("R{self.regions} %d\\n", (int){name});\n  rdb_end\n')
        self.regions += 1

    def function(self, number):
        numbers, truths = ["x", "z", "y"], []
        self.text.append(f"__attribute__((noinline)) int f{number}(int x, int z, int y) "
                         f"{{\n  sink++; // calls without an effect may run in any order\n")
        for _ in range(self.random.randrange(3, 9)):
            name = f"v{len(numbers) + len(truths)}"
            if self.random.random() < .6:
                self.text.append(f"  {self.random.choice(['int', '_Bool', 'char'])} {name} = {self.truth(numbers, truths)};\n")
                truths.append(name)
            else:
                self.text.append(f"  int {name} = {self.number(numbers, truths)};\n")
                numbers.append(name)
            if self.random.random() < .3:
                self.text.append(f"  sink += {self.random.choice(numbers + truths)};\n")
            if self.random.random() < .5:
                self.region(self.random.choice(numbers[3:] + truths))
        for name in numbers[3:] + truths:
            if self.random.random() < .7:
                self.region(name)
        values = numbers + truths
        self.text.append(f"  return {self.truth(numbers, truths)} ? {self.random.choice(values)} : "
                         f"{self.random.choice(values)};\n}}\n")


def generate(seed):
    return "".join(ChoicesProgram(seed).text)


if __name__ == "__main__":
    print(generate(int(sys.argv[1])), end="")
