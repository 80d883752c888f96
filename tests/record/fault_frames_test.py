# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A signal handler is told the same of a fault as natively: signal, code, address, error code, trap number, all registers
and flags, and what the instruction has done before. Instructions of all kinds, with every kind of memory that they
cannot have; natively, under rdb run in several ways, recorded, and replayed.

    fault_frames_test.py           a part of the cases, chosen evenly
    fault_frames_test.py --full    all of them"""
import os
import re
import subprocess

import harness

FULL = harness.take_flag("--full")
ONE_IN = 1 if FULL else 6

# Where tests/targets/record/fault_frames.c puts its code, and the kinds of memory, each after a page that is good.
PAGE = 4096
CODE = 0x300000000000
KINDS = {name: 0x310000000000 + number * 16 * PAGE
         for number, name in enumerate(("unmapped", "none", "read-only", "after-file", "write-only"))}
GOOD = KINDS["unmapped"]
NOT_CANONICAL = {"above": 0x800000000000, "high": 1 << 63}

LOADS = """mov (%rbx),%al
mov (%rbx),%rax
add (%rbx),%rax
cmp %rax,(%rbx)
push (%rbx)
movups (%rbx),%xmm0
movaps (%rbx),%xmm0
addps (%rbx),%xmm0
vmovups (%rbx),%ymm0
vmovaps (%rbx),%ymm0
vaddps (%rbx),%ymm1,%ymm0
vmovaps (%rbx),%zmm0
fldl (%rbx)
fldt (%rbx)
fbld (%rbx)
fldenv (%rbx)
frstor (%rbx)
fxrstor (%rbx)
xrstor (%rbx)
ldmxcsr (%rbx)
movq (%rbx),%mm0
prefetcht0 (%rbx)
clflush (%rbx)
bt %eax,(%rbx)
divl (%rbx)
vpgatherdd %ymm2,(%rbx,%ymm3,4),%ymm1
vmaskmovps (%rbx),%ymm3,%ymm1
jmp *(%rbx)
call *(%rbx)
pop (%rbx)""".split("\n")
STORES = """mov %al,(%rbx)
mov %rax,(%rbx)
lock add %rax,(%rbx)
lock cmpxchg %rcx,(%rbx)
xchg %rax,(%rbx)
lock cmpxchg16b (%rbx)
movups %xmm0,(%rbx)
movaps %xmm0,(%rbx)
movnti %rax,(%rbx)
vmovups %ymm0,(%rbx)
vmovaps %zmm0,(%rbx)
fstpt (%rbx)
fbstp (%rbx)
fnstcw (%rbx)
fnstenv (%rbx)
fnsave (%rbx)
data16 fnsave (%rbx)
fxsave (%rbx)
fxsave64 (%rbx)
xsave (%rbx)
xsave64 (%rbx)
xsavec (%rbx)
xsaveopt (%rbx)
stmxcsr (%rbx)
bts %eax,(%rbx)
sete (%rbx)
vmaskmovps %ymm1,%ymm3,(%rbx)
vmovdqu64 %zmm0,(%rbx){%k1}
movbe %rax,(%rbx)""".split("\n")
# They store where the last x87 instruction was, which rdb does not tell. A call stores its return address even if
# there is no such target.
TELLS_PLACE = re.compile("fnstenv|fnsave")
STACK = """push %rax
pop %rax
pushf
popf
pushfw
popfw
call 1f; 1:
call *%rax
ret
ret $8
leave
enter $16,$0
pop %rsp
pop (%rsp)
jmp *(%rsp)""".split("\n")
PRIVILEGED = """hlt
cli
in $5,%al
out %eax,(%dx)
rep insb
outsl
rdmsr
mov %cr0,%rax
mov %rax,%cr3
mov %cr8,%rax
mov %db7,%rax
mov %db4,%rax
lgdt (%rbx)
lldt %ax
lmsw %ax
clts
wbinvd
invlpg (%rbx)
swapgs
xsetbv
mov $4,%ecx; xgetbv
mwait
clac
sgdt (%rbx)
sldt %eax
smsw %rax
int3
int $0
int $3
int $4
int $5
int $0xff
ud2
.byte 0x0f,0xff,0xc0
.byte 0x0f,0xb9,0x00
xend
xabort $5
xbegin 1f; 1:
xtest
.byte 0x06
.byte 0x27
.byte 0x62,0,0,0,0,0
.byte 0x9a,0,0,0,0,0,0
.byte 0xc4,0
.byte 0xce
.byte 0xd4,0
.byte 0xd6
.byte 0xea,0,0,0,0,0,0
.byte 0x0f,0x04
.byte 0x0f,0x0a
.byte 0xfe,0xff
.byte 0xff,0xff
.byte 0x8f,0xe8,0,0
.byte 0xd9,0xd1
lock; nop
lock; mov %eax,(%rbx)
lock; add %eax,%ebx
lock; cmp %eax,(%rbx)
lock; pushf
lock; fxsave (%rbx)
lock; jmp *%rax
lock; ret
.byte 0xf3; xend
.fill 15,1,0x66; nop
.fill 14,1,0x66; nop
.fill 14,1,0x2e; ud2
div %ecx
idiv %cl""".split("\n")
FETCHED = ["nop", "mov (%rbx),%eax", "movabs $0x1122334455667788,%rax", "ud2", "call .+1000", "pushf", "int $4",
           "fxsave (%rbx)", ".byte 0x0f", "div %ecx", ".fill 15,1,0x66"]
SSE = ["divps %xmm1,%xmm0", "mulps %xmm1,%xmm1", "cvtps2pd %xmm1,%xmm0", "comisd %xmm2,%xmm2", "cvttss2si %xmm1,%eax",
       "vdivps %ymm1,%ymm0,%ymm0", "divpd (%rbx),%xmm0"]
X87 = ["fldz; fdivrp; fld1", "fld1; fchs; fsqrt; fwait", "fstps (%rbx); fwait", "fld %st(5); fwait",
       "fldpi; fistps (%rbx); fwait",
       "fldz; fdivrp; fnclex; fwait", "fldz; fdivrp; fninit; fwait", "fldz; fdivrp; emms", "fldz; fdivrp; fldl (%rax)",
       "fldz; fdivrp; mov (%rax),%eax"]
STRINGS = ["movsb", "movsq", "stosb", "scasb", "cmpsb", "rep movsb", "rep movsq", "rep stosb", "rep lodsb", "repne scasb",
           "addr32 movsb", "xlat"]


def bad_addresses():
    for name, page in KINDS.items():
        for distance in (0, 64, -1, -8, -64):
            yield f"{name}{distance:+}", page + PAGE + distance
    yield "null", 0
    yield "end", 2**64 - 8
    yield "kernel", 0xFFFF880000000000
    yield "edge", 0x7FFFFFFFFFFC
    yield from NOT_CANONICAL.items()


def memory_cases():
    for text in LOADS + STORES:
        for name, address in bad_addresses():
            done = "write-only" in name or name.endswith(("-64", "-8"))
            if done and (TELLS_PLACE.search(text) or text.startswith("call")):
                continue
            yield f"{text}:{name}", text, {"rbx": address}
        if not TELLS_PLACE.search(text) and not text.startswith("call"):
            yield f"{text}:odd", text, {"rbx": GOOD + 67}
        yield f"{text}:often", text, {"rbx": GOOD + PAGE, "often": 1}
        if "%ymm3," in text:
            continue
        for name, address in NOT_CANONICAL.items():
            for base in ("rbp", "r12", "r13") + (() if re.match("pop|push|call", text) else ("rsp",)):
                yield f"{text}:{base}:{name}", text.replace("(%rbx)", f"(%{base})"), {base: address}
            for operand in ("%ds:(%rbp)", "%gs:(%rbp)", "(%rax,%rbp)", "(%rbp,%rax)"):
                yield f"{text}:{operand}:{name}", text.replace("(%rbx)", operand), {"rbp": address}


def stack_cases():
    for text in STACK:
        for name, address in bad_addresses():
            for distance in (0, 8):
                stack = (address + distance) % 2**64
                yield f"{text}:{name}+{distance}", text, {"rsp": stack, "rbp": stack, "rax": CODE + 512}


def branch_cases():
    targets = [*NOT_CANONICAL.values(), 0x7FFFFFFFFFFF, 0x7FFFFFFFF000, 0xFFFF880000000000, 2**64 - 2, 0,
               0xFFFFFFFFFF600001, 0xFFFFFFFFFF601000, *(page + PAGE for page in KINDS.values())]
    for target in targets:
        for often in ({}, {"often": 1}):
            for text in ("jmp *%rax", "jmp *%rcx", "push %rax; jmp *(%rsp)", "push %rax; ret", "push %rax; ret $8"):
                yield f"{text}:{target:x}", text, {"rax": target, "rcx": target, **often}
            # The return address lies there already: rdb pushes it where the CPU finds that there is no such target.
            text = "lea 1f(%rip),%rbx; push %rbx; pop %rbx; call *%rax; 1:"
            yield f"call:{target:x}", text, {"rax": target, **often}
        yield f"call without stack:{target:x}", "call *%rax", {"rax": target, "rsp": KINDS["read-only"] + PAGE + 8}


def other_cases():
    for text in PRIVILEGED:
        yield text, text, {"rbx": GOOD + 64, "rsi": GOOD, "rdi": GOOD, "rcx": 0, "rax": 0}
    for number, after in enumerate(("unmapped", "none", "readable")):
        end = CODE + (number * 16 + 2) * PAGE
        for text in FETCHED:
            for left in range(0, 12, 1):
                yield f"fetch:{after}:{text}:{left}", text, {"at": end - left, "rcx": 0, "rbx": GOOD}
    for bit in range(6):
        for text in SSE:
            yield f"sse:{bit}:{text}", text, {"mxcsr": 0x1F80 & ~(1 << (7 + bit)), "rbx": GOOD + 64}
        for text in X87:
            yield f"x87:{bit}:{text}", text, {"fcw": 0x37F & ~(1 << bit), "rbx": GOOD + 64}
    for text in STRINGS:
        for name, address in bad_addresses():
            for source, to in ((address, GOOD), (GOOD, address)):
                for flags in (0x202, 0x602):
                    yield (f"{text}:{name}:{flags:x}", text,
                           {"rsi": source, "rdi": to, "rcx": 40, "rbx": address, "flags": flags})
    for flags in (0x602, 0x4202, 0x200202, 0xCD7):
        for text in ("ud2", "mov (%rbx),%eax", "pushf; pop %rax", "int3", "int $4", "popf"):
            yield f"flags:{flags:x}:{text}", text, {"flags": flags, "rbx": 1}
    for function in (0, 0x400, 0x800):
        for name, address in bad_addresses():
            if re.fullmatch(r"(?!write-only|after-file).*(\+0|\+64|-1)", name):
                yield (f"vsyscall:{function:x}:{name}", "call *%rax",
                       {"rax": 0xFFFFFFFFFF600000 + function, "rdi": address, "rsi": 0})


def assemble(cases, folder):
    """The lines that tests/targets/record/fault_frames.c reads."""
    source = os.path.join(folder, "cases.s")
    with open(source, "w", encoding="ascii") as file:
        for number, (_, text, _) in enumerate(cases):
            file.write(f"c{number}:\n" + text.replace("; ", "\n") + "\n")
        file.write(f"c{len(cases)}:\n")
    subprocess.run(["/usr/bin/as", "--64", "-o", source + ".o", source], check=True)
    subprocess.run(["/usr/bin/objcopy", "-O", "binary", "-j", ".text", source + ".o", source + ".bin"], check=True)
    symbols = subprocess.run(["/usr/bin/nm", source + ".o"], check=True, capture_output=True, text=True).stdout
    places = {name: int(value, 16) for value, name in re.findall(r"^([0-9a-f]+) . (c\d+)$", symbols, re.M)}
    with open(source + ".bin", "rb") as file:
        code = file.read()
    lines = []
    for number, (name, _, registers) in enumerate(cases):
        piece = code[places[f"c{number}"]:places[f"c{number + 1}"]].hex()
        values = " ".join(f"{register}={value:x}" for register, value in registers.items())
        lines.append(f"{name.replace(' ', '_')} {piece} {values}\n")
    return lines


class FaultFrames(harness.TestCase):
    default_timeout = 600

    def compare(self, found, native):
        """Of what differs, the first few lines are enough."""
        pairs = [pair for pair in zip(native.splitlines(), found.splitlines()) if pair[0] != pair[1]]
        text = "".join(f"\nnative {one}\nfound  {other}" for one, other in pairs[:5])
        self.assertFalse(pairs, f"{len(pairs)} differ, among them:{text}")
        self.assertEqual(len(found), len(native))

    def check(self, cases, *ways):
        cases = list(cases)[::ONE_IN]
        path = self.write("cases", "".join(assemble(cases, self.tmp)))
        command = [harness.target("record/fault_frames"), path]
        native = self.run_program(command, status=0).out
        self.assertEqual(len(native.splitlines()), len(cases))
        for way in ways:
            self.compare(self.rdb("run", *way, "--", *command, status=0).out, native)
        trace = self.path("trace")
        self.compare(self.rdb("record", "-q", "--checksum=calls", "-o", trace, "--", *command, status=0).out, native)
        for _ in range(2):
            self.compare(self.rdb("replay", "--no-module", trace, status=0).out, native)

    def test_memory(self):
        self.check(memory_cases())

    def test_stack(self):
        self.check(stack_cases(), ["--engine=step"], ["--engine=eager"])

    def test_branches(self):
        self.check(branch_cases(), ["--engine=step"], ["--engine=blocks"], ["--engine=eager"])

    def test_others(self):
        self.check(other_cases(), ["--engine=step"], ["--engine=eager"])


if __name__ == "__main__":
    harness.main()
