# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs, the same for the same seed: integer, vector, string and stack instructions in blocks that end in every
way, calls, indirect jumps, system calls and faults.

The program has no libc and lies at a fixed address, so every register but rsp is a function of the program alone. At the
end it writes its registers, flags and memory to stdout. Its fault handler adds all registers and flags of each signal
frame to that memory. r14 counts the blocks left (without touching flags), r15 points to the memory.
"""
import random

REGISTERS = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13"]
NAMES32 = {r: "e" + r[1:] if r[1] in "abcds" and not r[1].isdigit() else r + "d" for r in REGISTERS}
NAMES16 = {r: r[1:] if not r[1].isdigit() else r + "w" for r in REGISTERS}
NAMES8 = {"rax": "al", "rbx": "bl", "rcx": "cl", "rdx": "dl", "rsi": "sil", "rdi": "dil", "rbp": "bpl",
          **{f"r{n}": f"r{n}b" for n in range(8, 14)}}
CONDITIONS = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"]
MEMORY = 1024  # bytes of plain memory; the frame hash lies behind them


class Generator:
    def __init__(self, seed, fuel, blocks=60):
        self.random = random.Random(seed)
        self.fuel = fuel
        self.blocks = blocks
        self.functions = 8
        self.labels = 0
        self.out = []

    def emit(self, *lines):
        self.out += lines

    def label(self):
        self.labels += 1
        return f"l{self.labels}"

    def pick(self, items):
        return self.random.choice(items)

    def reg(self, size=8):
        name = self.pick(REGISTERS)
        return "%" + {8: name, 4: NAMES32[name], 2: NAMES16[name], 1: NAMES8[name]}[size]

    def mem(self):
        place = self.random.randrange(0, MEMORY - 64)
        return self.pick([f"{place}(%r15)", f"memory+{place}(%rip)", f"memory+{place}"])

    def imm(self, size):
        value = self.pick([0, 1, -1, 5, 0x7f, -128, self.random.randrange(-2**31, 2**31)])
        bits = min(size * 8, 32)
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    def arithmetic(self):
        size = self.pick([8, 8, 4, 4, 2, 1])
        suffix = {8: "q", 4: "l", 2: "w", 1: "b"}[size]
        op = self.pick(["add", "sub", "adc", "sbb", "and", "or", "xor", "cmp", "test", "mov", "mov"])
        form = self.random.randrange(5)
        if form == 0:
            return f"{op}{suffix} ${self.imm(size)}, {self.reg(size)}"
        if form == 1:
            return f"{op}{suffix} ${self.imm(size)}, {self.mem()}"
        if form == 2 and op != "test":
            return f"{op}{suffix} {self.mem()}, {self.reg(size)}"
        if form == 3:
            return f"{op}{suffix} {self.reg(size)}, {self.mem()}"
        return f"{op}{suffix} {self.reg(size)}, {self.reg(size)}"

    def unary(self):
        size = self.pick([8, 4, 2, 1])
        suffix = {8: "q", 4: "l", 2: "w", 1: "b"}[size]
        op = self.pick(["inc", "dec", "neg", "not"])
        return f"{op}{suffix} {self.pick([self.reg(size), self.mem()])}"

    def shift(self):
        size = self.pick([8, 4, 2, 1])
        suffix = {8: "q", 4: "l", 2: "w", 1: "b"}[size]
        op = self.pick(["shl", "shr", "sar", "rol", "ror", "rcl", "rcr"])
        amount = self.pick(["%cl", "$1", f"${self.random.randrange(0, 64)}"])
        return f"{op}{suffix} {amount}, {self.pick([self.reg(size), self.mem()])}"

    def other(self):
        r = self.reg
        c = self.pick(CONDITIONS)
        return self.pick([
            lambda: f"set{c} {r(1)}",
            lambda: f"cmov{c} {r(8)}, {r(8)}",
            lambda: f"cmov{c} {self.mem()}, {r(4)}",
            lambda: f"lea {self.random.randrange(-500, 500)}({r()},{r()},{self.pick([1, 2, 4, 8])}), {r()}",
            lambda: f"imul {r()}, {r()}",
            lambda: f"imul ${self.imm(4)}, {r(4)}, {r(4)}",
            lambda: f"mul {r()}",
            lambda: f"or $1, %ecx; xor %edx, %edx; div %ecx",
            lambda: f"movzbl {r(1)}, {r(4)}",
            lambda: f"movsbq {self.mem()}, {r(8)}",
            lambda: f"movslq {r(4)}, {r(8)}",
            lambda: f"bswap {r()}",
            lambda: f"xchg {r()}, {r()}",
            lambda: f"xchg {r()}, {self.mem()}",
            lambda: f"lock xadd {r()}, {self.mem()}",
            lambda: f"lock cmpxchg {r()}, {self.mem()}",
            lambda: f"shld ${self.random.randrange(64)}, {r()}, {r()}",
            lambda: f"shrd %cl, {r(4)}, {r(4)}",
            lambda: f"bt {r()}, {r()}",
            lambda: f"btsq ${self.random.randrange(64)}, {self.mem()}",
            lambda: f"bsf {r()}, {r()}",
            lambda: f"lzcnt {r()}, {r()}",
            lambda: f"popcnt {self.mem()}, {r()}",
            lambda: f"andn {r()}, {r()}, {r()}",
            lambda: f"rorx $7, {r()}, {r()}",
            lambda: f"pext {r()}, {r()}, {r()}",
            lambda: "stc", lambda: "clc", lambda: "cmc", lambda: "lahf", lambda: "sahf", lambda: "cqto", lambda: "nop",
            lambda: f"pushf; pop {r()}",
            lambda: f"push {r()}; pop {r()}",
            lambda: f"push {self.mem()}; pop {self.mem()}",
            lambda: f"pushw {r(2)}; popw {r(2)}",
            lambda: f"push $0x{self.pick([0x202, 0x8d7, 0x247, 0x293]):x}; popf",
            lambda: f"mov %ah, %bl; add %ch, %dh; xchg %bh, %al",
            lambda: f"movq {r()}, -64(%rsp); addq {r()}, -64(%rsp); movq -64(%rsp), {r()}",
        ])()

    def vector(self):
        x = lambda: f"%xmm{self.random.randrange(16)}"
        y = lambda: f"%ymm{self.random.randrange(16)}"
        return self.pick([
            lambda: f"movq {self.reg()}, {x()}",
            lambda: f"movq {x()}, {self.reg()}",
            lambda: f"paddd {x()}, {x()}",
            lambda: f"pxor {x()}, {x()}",
            lambda: f"pshufd ${self.random.randrange(256)}, {x()}, {x()}",
            lambda: f"movdqu {self.mem()}, {x()}",
            lambda: f"movdqu {x()}, {self.mem()}",
            lambda: f"vmovdqu {self.mem()}, {y()}",
            lambda: f"vmovdqu {y()}, {self.mem()}",
            lambda: f"vpaddq {y()}, {y()}, {y()}",
            lambda: f"vpmulld {self.mem()}, {y()}, {y()}",
            lambda: f"vpblendd ${self.random.randrange(256)}, {self.mem()}, {y()}, {y()}",
            lambda: f"vinserti128 $1, {self.mem()}, {y()}, {y()}",
            lambda: f"cvtsi2sd {self.reg()}, {x()}",
            lambda: f"cvttsd2si {x()}, {self.reg()}",
            lambda: f"addsd {x()}, {x()}",
            lambda: f"mulsd {x()}, {x()}",
            lambda: f"ucomisd {x()}, {x()}",
            lambda: f"vptest {y()}, {y()}",
            lambda: f"pmovmskb {x()}, {self.reg(4)}",
        ])()

    def string(self):
        op = self.pick(["rep movsb", "rep movsq", "rep stosb", "rep stosl", "repe cmpsb", "repne scasb", "repe scasw",
                        "movsb", "stosq", "lodsw", "cmpsl"])
        direction = self.pick(["", "", "std;"])
        return (f"lea memory+{self.random.randrange(256, 512)}(%rip), %rdi; lea memory+"
                f"{self.random.randrange(256, 512)}(%rip), %rsi; mov ${self.random.randrange(0, 30)}, %ecx;"
                f"{direction} {op}; cld")

    def fault(self):
        """Each is 8 bytes long: the handler skips them."""
        return self.pick(["movq %rax, 0", "addq %rbx, 0", "movq 0, %r9", "ud2; nopl (%rax); nop; nop; nop"])

    def system_call(self):
        return "mov $-1, %rax; syscall"

    def body(self, count):
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.45:
                line = self.arithmetic()
            elif kind < 0.53:
                line = self.unary()
            elif kind < 0.62:
                line = self.shift()
            elif kind < 0.83:
                line = self.other()
            elif kind < 0.93:
                line = self.vector()
            elif kind < 0.96:
                line = self.string()
            elif kind < 0.97:
                line = self.system_call()
            elif kind < 0.985:
                line = f"call f{self.random.randrange(self.functions)}"
            else:
                line = self.fault()
            self.emit("  " + line)

    def ending(self, index):
        """Every end counts down r14 first, by instructions that leave the flags alone."""
        self.emit("  xchg %rcx, %r14; jrcxz 8f; lea -1(%rcx), %rcx; xchg %rcx, %r14; jmp 9f; 8: jmp finish; 9:")
        target = lambda: f"b{self.random.randrange(self.blocks)}"
        c = self.pick(CONDITIONS)
        self.emit("  " + self.pick([
            lambda: f"j{c} {target()}",
            lambda: f"j{c} {target()}",
            lambda: f"j{c} {target()}; j{self.pick(CONDITIONS)} {target()}",
            lambda: f"jmp {target()}",
            lambda: f"movzbl {self.reg(1)}, %ebx; jmp *table(,%rbx,8)",
            lambda: f"movzbl %cl, %edx; mov table(,%rdx,8), %rdx; jmp *%rdx",
            lambda: f"lea {target()}(%rip), %rsi; push %rsi; ret",
            lambda: f"jrcxz {self.near_label()}",
            lambda: f"movzbl %al, %edi; push table(,%rdi,8); ret",
            lambda: f"mov $3, %ecx; 7: dec {self.reg(4).replace('%ecx', '%eax')}; loop 7b",
            lambda: f"movzbl %dl, %ecx; call *ftable(,%rcx,8); j{c} {target()}",
        ])())

    def near_label(self):
        """jrcxz reaches 127 bytes: a stub behind an unconditional jump."""
        name = self.label()
        return f"{name}; jmp {name}x; {name}: jmp b{self.random.randrange(self.blocks)}; {name}x:"

    def program(self):
        self.emit(".text", ".globl _start", "_start:",
                  "  mov $13, %eax; mov $11, %edi; lea action(%rip), %rsi; xor %edx, %edx; mov $8, %r10d; syscall",
                  "  mov $13, %eax; mov $4, %edi; lea action(%rip), %rsi; xor %edx, %edx; mov $8, %r10d; syscall",
                  f"  mov ${self.fuel}, %r14d; lea memory(%rip), %r15")
        for i, name in enumerate(REGISTERS):
            self.emit(f"  mov $0x{self.random.getrandbits(64):x}, %{name}")
        for i in range(16):
            self.emit(f"  vmovdqu memory+{i * 32}(%rip), %ymm{i}")
        self.emit("  xor %ebx, %ebx")
        for i in range(self.blocks):
            self.emit(f"b{i}:")
            self.body(self.random.randrange(1, 14))
            self.ending(i)
        self.emit("  jmp b0")
        for i in range(self.functions):
            self.emit(f"f{i}:")
            for _ in range(self.random.randrange(1, 6)):
                self.emit("  " + self.pick([self.arithmetic, self.unary, self.shift])())
            if i + 1 < self.functions and self.random.random() < 0.6:
                self.emit(f"  call f{self.random.randrange(i + 1, self.functions)}")
            c = self.pick(CONDITIONS)
            # The last return leaves its flags to the caller; ret n drops a word that this function pushed under it.
            if self.random.random() < 0.3:
                self.emit("  push (%rsp); ret $8")
            else:
                self.emit(f"  j{c} 1f; ret; 1: {self.unary()}; ret")
        self.emit("finish:", "  pushf; pop %r14", "  lea results(%rip), %r15")
        for i, name in enumerate(REGISTERS):
            self.emit(f"  mov %{name}, {i * 8}(%r15)")
        self.emit(f"  mov %r14, {len(REGISTERS) * 8}(%r15)")
        for i in range(16):
            self.emit(f"  vmovdqu %ymm{i}, {128 + i * 32}(%r15)")
        self.emit("  mov $1, %eax; mov $1, %edi; lea memory(%rip), %rsi; mov $(end_of_results-memory), %edx; syscall",
                  "  mov $231, %eax; xor %edi, %edi; syscall; ud2",
                  # The handler: mixes r8-r15, rdi..rcx, flags, rip, cr2 of the frame into frame_hash; skips 8 bytes.
                  "handler:",
                  "  lea frame_hash(%rip), %rax; mov (%rax), %rcx; mov $0x100000001b3, %rsi",
                  "  xor %r8d, %r8d",
                  "1: cmp $15, %r8d; je 2f; xor 40(%rdx,%r8,8), %rcx; imul %rsi, %rcx",
                  "2: inc %r8d; cmp $17, %r8d; jb 1b",
                  "  mov 176(%rdx), %r8; and $0xcd5, %r8d; xor %r8, %rcx; imul %rsi, %rcx",
                  "  mov 192(%rdx), %r8; xor %r8, %rcx; imul %rsi, %rcx; mov %rcx, (%rax); addq $8, 168(%rdx); ret",
                  "restorer: mov $15, %eax; syscall")
        self.emit(".data", ".balign 8", "action: .quad handler, 0x04000004, restorer, 0", "table:")
        self.emit(*[f".quad b{self.random.randrange(self.blocks)}" for _ in range(256)], "ftable:")
        self.emit(*[f".quad f{self.random.randrange(self.functions)}" for _ in range(256)], ".balign 64", "memory:")
        self.emit(*[f".quad 0x{self.random.getrandbits(64):x}" for _ in range(MEMORY // 8)])
        self.emit("frame_hash: .quad 1", "results: .skip 640", "end_of_results:",
                  '.section .note.GNU-stack,"",@progbits', "")
        return "\n".join(self.out)


def program(seed, fuel):
    """The assembly text of the program with this seed that runs `fuel` blocks."""
    return Generator(seed, fuel).program()
