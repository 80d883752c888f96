#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the assembly of flags.c: every flag-writing instruction before every kind of block end.

A translator moves its counter between an instruction and the end of a block, and keeps flags only where it believes
them live. So each case loads known flags and registers, executes one operation, ends the block in one way and stores
the flags afterwards; the flags must be those that a pushf right after the operation gives.
Output: one function per case, and a table of (operation, ending, function).
"""
import sys

# All act on rax, rbx, rcx, rdx, rsi, [r8]; r8 points to 64 scratch bytes, r9 to the place for the flags.
OPERATIONS = """
add %rbx, %rax | add $1, %al | add %cx, %dx | addq $-1, (%r8) | sub %rbx, %rax | sub %eax, %eax | sub $0x7f, %bl
adc %rbx, %rax | adc $0, %dl | adcl $5, (%r8) | sbb %rbx, %rax | sbb %al, %al | sbbq $1, (%r8)
and %rbx, %rax | and $0, %eax | or %rbx, %rax | orb $0x80, (%r8) | xor %eax, %eax | xor %rbx, %rcx
cmp %rbx, %rax | cmp $0x10, %al | cmpw $-3, (%r8) | cmp %ah, %bl | test %rbx, %rax | test $1, %cl | testl $8, (%r8)
inc %rax | dec %ecx | incb (%r8) | decw %dx | neg %rax | negb (%r8) | not %rax | notq (%r8)
shl $1, %rax | shl $5, %ebx | shl $0, %eax | shl %cl, %rax | shl %cl, %dl | shr $1, %al | shr %cl, %ebx | sar $3, %rax
sarq %cl, (%r8) | shlq %cl, (%r8) | rol $1, %rax | rol $9, %ax | rol %cl, %al | ror $1, %ebx | ror %cl, %rax
rcl $1, %rax | rcl %cl, %bx | rcr $1, %ecx | rcr $4, %rax | rcrq %cl, (%r8)
shld $7, %rbx, %rax | shld %cl, %ebx, %eax | shrd $1, %rbx, %rax | shrd %cl, %rbx, (%r8)
xor %ecx, %ecx; shl %cl, %rax | xor %ecx, %ecx; rol %cl, %rax | xor %ecx, %ecx; shld %cl, %rbx, %rax
mul %rbx | mulb %cl | imul %rbx | imul %rbx, %rax | imul $-77, %rbx, %rax | imulw $3, (%r8), %ax
mov $7, %ecx; xor %edx, %edx; div %rcx | mov $-7, %rcx; xor %edx, %edx; idiv %ecx
bt %rbx, %rax | bt $3, %ecx | bts $63, %rax | btr $0, %eax | btcl $5, (%r8) | bsf %rbx, %rax | bsr %ebx, %eax
tzcnt %rbx, %rax | lzcnt %rbx, %rax | popcnt %rbx, %rax | andn %rbx, %rcx, %rax | bextr %rcx, %rbx, %rax
blsi %rbx, %rax | blsr %rbx, %rax | blsmsk %rbx, %rax | bzhi %rcx, %rbx, %rax | pdep %rbx, %rcx, %rax
adcx %rbx, %rax | adox %rbx, %rax | mulx %rbx, %rax, %rcx | rorx $7, %rbx, %rax | sarx %rcx, %rbx, %rax
cmpxchg %rbx, %rcx | cmpxchg %rbx, (%r8) | lock cmpxchg %rcx, (%r8) | cmpxchg8b (%r8) | cmpxchg16b (%r8)
xadd %rax, %rbx | lock xadd %rcx, (%r8) | xchg %rax, (%r8) | lock addq $3, (%r8) | lock decl (%r8) | lock btsq $7, (%r8)
stc | clc | cmc | sahf | lahf | std; cld | pushf; popf | push $0x8d5; popf | push $0x202; popf
comiss %xmm0, %xmm1 | ucomisd %xmm1, %xmm0 | comisd %xmm2, %xmm0 | ptest %xmm0, %xmm1 | vptest %ymm0, %ymm1
vtestps %xmm0, %xmm1 | fld1; fldz; fcomip %st(1), %st; fstp %st(0) | pcmpistri $0, %xmm0, %xmm1
mov %r8, %rdi; lea 8(%r8), %rsi; mov $8, %ecx; repe cmpsb | mov %r8, %rdi; xor %ecx, %ecx; repe cmpsb
mov %r8, %rdi; mov $16, %ecx; repne scasb | mov %r8, %rdi; xor %ecx, %ecx; repne scasb | mov %r8, %rsi; cmpsb
mov %r8, %rdi; scasl | mov %r8, %rdi; mov $3, %ecx; rep stosb | mov %rbx, %rax | lea 5(%rax,%rbx), %rcx | xchg %al, %ah
movzbl %bl, %eax | cmovc %rbx, %rax | setp %al | bswap %rax | push %rax; pop %rbx | cqto | nop | movbe (%r8), %rax
xlatb_safe | enter $16, $0; leave | crc32 %rbx, %rax | movd %eax, %xmm3 | vaddps %ymm0, %ymm1, %ymm2 | rdtsc | cpuid_safe
"""

SPECIAL = {
    "xlatb_safe": "mov %rbx, %r12; mov %r8, %rbx; mov $3, %al; xlatb; mov %r12, %rbx",
    "cpuid_safe": "mov %rbx, %r12; xor %eax, %eax; cpuid; mov %r12, %rbx",
}

# Each ending leaves control at 9f, where the flags are stored. r10, r11, r13 are free.
CONDITIONS = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"]
LONG_RUN = "; ".join(["mov %r10, %r11", "lea 1(%r11), %r13", "mov %r13, %r10"] * 25)
ENDINGS = {
    "pushf": "",
    "jmp": "jmp 9f; ud2",
    "backward": "jmp 2f; 1: jmp 9f; ud2; 2: jmp 1b",
    "jmp reg": "lea 9f(%rip), %r10; jmp *%r10; ud2",
    "jmp mem": "lea 9f(%rip), %r10; mov %r10, 48(%r8); jmp *48(%r8); ud2",
    "call": "call 1f; jmp 9f; 1: ret",
    "call reg": "lea 1f(%rip), %r10; call *%r10; jmp 9f; 1: ret",
    "call mem": "lea 1f(%rip), %r10; mov %r10, 48(%r8); call *48(%r8); jmp 9f; 1: ret",
    "call rsp": "lea 1f(%rip), %r10; push %r10; call *(%rsp); pop %r10; jmp 9f; 1: ret",
    "ret": "lea 9f(%rip), %r10; push %r10; ret; ud2",
    "ret n": "push %r10; push %r10; lea 9f(%rip), %r10; push %r10; ret $16; ud2",
    "jrcxz": "jrcxz 9f; jmp 9f",
    "jecxz": "jecxz 9f; nop; jmp 9f",
    "loop": "mov $3, %ecx; 1: loop 1b",
    "loop out": "mov $1, %ecx; loop 1f; jmp 9f; 1: ud2",
    "loope": "mov $2, %ecx; loope 9f; nop",
    "loopne": "mov $2, %ecx; loopne 9f; nop",
    "syscall": "mov $39, %eax; syscall",
    "syscall r11": "mov $39, %eax; syscall; push %r11; popf",
    "long run": LONG_RUN,
    "long run jmp": LONG_RUN + "; jmp 9f; ud2",
    "fault": "1: mov 0, %eax",  # the handler skips the 7 bytes
    "fall in": "jmp 2f; 2: nop; 3: nop; 4:",
}
for condition in CONDITIONS:
    ENDINGS["j" + condition] = f"j{condition} 9f; nop; jmp 9f; ud2"
    ENDINGS["j" + condition + " back"] = f"jmp 2f; 1: jmp 9f; 2: j{condition} 1b; j{condition} 1b; nop"
ENDINGS["jcc chain"] = "".join(f"j{c} 1f; nop; 1: " for c in CONDITIONS)
ENDINGS["read and end"] = "setc %r10b; cmovz %r10, %r11; jmp 9f; ud2"


def operations():
    return [part.strip() for line in OPERATIONS.strip().splitlines() for part in line.split("|")]


def main():
    out = [
        "# Written by flags_gen.py: one function per operation and block end.",
        ".text",
    ]
    table = [".section .data.rel.ro, \"aw\"", ".balign 8", ".globl flag_cases", "flag_cases:"]
    names = [".section .rodata"]
    ending_names = {}
    for index, ending in enumerate(ENDINGS):
        ending_names[ending] = f"ending_{index}"
        names.append(f"ending_{index}: .asciz \"{ending}\"")
    for op_index, op in enumerate(operations()):
        names.append(f"op_{op_index}: .asciz \"{op}\"")
        for ending_index, (ending, code) in enumerate(ENDINGS.items()):
            name = f"case_{op_index}_{ending_index}"
            out += [
                f"{name}:",
                "endbr64; push %rbx; push %rbp; push %r12; push %r13; push %r9",
                "mov (%rdi), %rax; mov 8(%rdi), %rbx; mov 16(%rdi), %rcx; mov 24(%rdi), %rdx; mov 32(%rdi), %rsi",
                "mov 40(%rdi), %r8; mov 48(%rdi), %r10; mov %r10, %r11; mov %r10, %r13",
                "push %r10; popf",
                SPECIAL.get(op, op),
                code,
                "9: pushf; pop %rax; cld; pop %r9; mov %rax, (%r9)",
                "pop %r13; pop %r12; pop %rbp; pop %rbx; ret",
            ]
            table.append(f".quad op_{op_index}, {ending_names[ending]}, {name}")
    table.append(".quad 0, 0, 0")
    text = "\n".join(out + names + table + ['.section .note.GNU-stack,"",@progbits', ""])
    with open(sys.argv[1], "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
