# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small program in assembly, with debug information that no compiler writes. The program calls hit() three times and
crashes; its line table says that this is hostile.c."""
import struct
import zlib

PROGRAM = """
.text
.globl main
.type main, @function
.Lmain_begin:
main:
    push %rbx
    mov $3, %ebx
.Lloop:
    mov %ebx, %edi
    call hit
.Lafter:
    dec %ebx
    jnz .Lloop
    xor %eax, %eax
.Lcrash:
    mov (%rax), %rax
    pop %rbx
    ret
.size main, .-main
.Lmain_end:
.globl hit
.type hit, @function
.Lhit_begin:
hit:
    mov %edi, total(%rip)
.Lhit_return:
    ret
.size hit, .-hit
.Lhit_end:
.comm total, 4, 4
.section .note.GNU-stack, "", @progbits
"""

TAGS = {"compile_unit": 0x11, "subprogram": 0x2e, "lexical_block": 0x0b, "variable": 0x34, "parameter": 0x05, "base_type": 0x24,
        "typedef": 0x16, "pointer_type": 0x0f, "structure_type": 0x13, "member": 0x0d, "array_type": 0x01, "inlined": 0x1d,
        "imported_unit": 0x3d, "const_type": 0x26, "partial_unit": 0x3c, "namespace": 0x39}
ATTRIBUTES = {"sibling": 0x01, "location": 0x02, "name": 0x03, "stmt_list": 0x10, "low_pc": 0x11, "high_pc": 0x12,
              "comp_dir": 0x1b,
              "byte_size": 0x0b, "const_value": 0x1c, "import": 0x18, "abstract_origin": 0x31, "decl_line": 0x3b,
              "encoding": 0x3e,
              "external": 0x3f, "specification": 0x47, "type": 0x49, "ranges": 0x55, "dwo_name": 0x2130, "signature": 0x69,
              "str_offsets_base": 0x72, "addr_base": 0x73, "rnglists_base": 0x74, "loclists_base": 0x8c}
FORMS = {"addr": 0x01, "data1": 0x0b, "data2": 0x05, "data4": 0x06, "data8": 0x07, "string": 0x08, "strp": 0x0e, "udata": 0x0f,
         "ref4": 0x13, "ref_udata": 0x15, "indirect": 0x16, "sec_offset": 0x17, "exprloc": 0x18, "flag_present": 0x19,
         "strx": 0x1a,
         "addrx": 0x1b, "ref_addr": 0x10, "block": 0x09, "block4": 0x04, "loclistx": 0x22, "rnglistx": 0x23, "ref_sig8": 0x20,
         "implicit_const": 0x21, "ref_alt": 0x1f20, "line_strp": 0x1f}


class Info:
    """Text for the assembler: one unit, with an abbreviation for every shape of entry that is used."""

    def __init__(self, version=4):
        self.version = version
        self.shapes = {}
        self.body = []

    def die(self, tag, children, *attributes, label=None):
        """`attributes`: (name, form, directive) each."""
        shape = (tag, children, tuple((name, form) for name, form, _ in attributes))
        code = self.shapes.setdefault(shape, len(self.shapes) + 1)
        if label:
            self.body.append(f"{label}:")
        self.body.append(f".uleb128 {code}")
        self.body.extend(directive for _, _, directive in attributes if directive)

    def end(self, count=1):
        self.body.append(f".skip {count}, 0")

    def begin_unit(self, *more, lines=True):
        offset = "sec_offset" if self.version >= 4 else "data4"
        self.die("compile_unit", True, ("name", "string", '.string "hostile.c"'), ("comp_dir", "string", '.string "/nowhere"'),
                 ("low_pc", "addr", ".quad .Lmain_begin"), ("high_pc", *self.span(".Lmain_begin", ".Lhit_end")),
                 *([("stmt_list", offset, ".long .Lline")] if lines else []), *more)

    def span(self, begin, end):
        return ("data8", f".quad {end}-{begin}") if self.version >= 4 else ("addr", f".quad {end}")

    def block(self):
        return "exprloc" if self.version >= 4 else "block"

    def function(self, name, *more, children=True, label=None):
        self.die("subprogram", children, ("name", "string", f'.string "{name}"'), ("decl_line", "udata", ".uleb128 1"),
                 ("low_pc", "addr", f".quad .L{name}_begin"), ("high_pc", *self.span(f".L{name}_begin", f".L{name}_end")), *more,
                 label=label)

    def variable(self, name, type_label, tag="variable", *more):
        self.die(tag, False, ("name", "string", f'.string "{name}"'), ("decl_line", "udata", ".uleb128 1"),
                 ("type", "ref4", f".long {type_label}-.Lunit"), ("location", self.block(), ".uleb128 1\n.byte 0x55"), *more)

    def integer(self):
        self.die("base_type", False, ("name", "string", '.string "int"'), ("byte_size", "data1", ".byte 4"),
                 ("encoding", "data1", ".byte 5"), label=".Lint")

    def text(self, flags="", abbreviations=None):
        head = [f'.section .debug_info, "{flags}", @progbits', ".Lunit:", ".long .Lunit_end-.Lunit_length", ".Lunit_length:",
                f".short {self.version}"]
        head += [".byte 1, 8", ".long .Labbrev"] if self.version >= 5 else [".long .Labbrev", ".byte 8"]
        out = head + self.body + [".Lunit_end:", f'.section .debug_abbrev, "{flags}", @progbits', ".Labbrev:"]
        if abbreviations is not None:
            return "\n".join(out + [abbreviations]) + "\n"
        for (tag, children, attributes), code in self.shapes.items():
            out += [f".uleb128 {code}, {TAGS.get(tag, tag)}", f".byte {int(children)}"]
            for name, form in attributes:
                out.append(f".uleb128 {ATTRIBUTES.get(name, name)}, {FORMS.get(form, form)}")
                if form == "implicit_const":
                    out.append(".sleb128 1")
            out.append(".byte 0, 0")
        return "\n".join(out + [".byte 0"]) + "\n"


ADDRESS = ".byte 0, 9, 2\n.quad {}\n"  # set the address
ROW = ".byte 3\n.sleb128 {}\n.byte 1\n"  # advance the line, and a row
END = ".byte 0, 1, 1\n"
ROWS = (ADDRESS.format(".Lmain_begin") + ROW.format(1) + ADDRESS.format(".Lafter") + ROW.format(2) + ADDRESS.format(".Lcrash") +
        ROW.format(1) + ADDRESS.format(".Lhit_begin") + ROW.format(5) + ADDRESS.format(".Lhit_return") + ROW.format(1) +
        ADDRESS.format(".Lhit_end") + END)


def lines(rows=ROWS, version=4, files='.string "hostile.c"\n.uleb128 0, 0, 0\n.byte 0\n', line_range=14, operands=None,
          length=None, minimum=1):
    """A line table; versions before 5 have the same tables of files."""
    operands = "0,1,1,1,1,0,0,0,1,0,0,1" if operands is None else operands
    most = ".byte 1\n" if version >= 4 else ""
    return (f".section .debug_line, \"\", @progbits\n.Lline:\n.long {length or '.Lline_end-.Lline_length'}\n.Lline_length:\n"
            f".short {version}\n.long .Lline_program-.Lline_header\n.Lline_header:\n.byte {minimum}\n{most}.byte 1, -5, "
            f"{line_range}, 13\n"
            f".byte {operands}\n.byte 0\n{files}.Lline_program:\n{rows}.Lline_end:\n")


def plain(version=4):
    """What a compiler would write."""
    info = Info(version)
    info.begin_unit()
    info.integer()
    info.function("main")
    info.variable("count", ".Lint")
    info.end()
    info.function("hit")
    info.variable("i", ".Lint", "parameter")
    info.end()
    info.end()
    return info


def in_hit(add, version=4, **how):
    """Debug information in which hit() has what add(info) says; `outside`: and the unit."""
    outside = how.get("outside")
    info = Info(version)
    info.begin_unit()
    info.integer()
    if outside:
        outside(info)
    info.function("hit", *how.get("more", ()), label=".Lhit_die")
    info.variable("i", ".Lint", "parameter")
    if add:
        add(info)
    info.end()
    info.end()
    return info.text() + lines()


def nested(depth):
    def add(info):
        for _ in range(depth):
            info.die("lexical_block", True, ("low_pc", "addr", ".quad .Lhit_begin"),
                     ("high_pc", *info.span(".Lhit_begin", ".Lhit_end")))
        info.end(depth)
    return add


def reference(tag, attribute, label, target, children=False):
    return lambda info: info.die(tag, children, (attribute, "ref4", f".long {target}-.Lunit"), label=label)


def several(*parts):
    def add(info):
        for part in parts:
            part(info)
    return add


def variable(name, type_label):
    return lambda info: info.variable(name, type_label)


def own_struct(info):
    info.die("structure_type", True, ("name", "string", '.string "own"'), ("byte_size", "data4", ".long 8"), label=".Lown")
    info.die("member", False, ("name", "string", '.string "self"'), ("type", "ref4", ".long .Lown-.Lunit"))
    info.end()


def unit_of(die, **how):
    info = plain()
    info.body.pop()
    die(info)
    info.end()
    return info.text(**how) + lines()


def cases(scale=1):
    """Names, and assembly that is put behind the program."""
    many = 20000 * scale
    sibling = ("sibling", "ref4", ".long .Lagain-.Lunit")
    yield "version 2", plain(2).text() + lines(version=2)
    yield "version 3", plain(3).text() + lines(version=3)
    yield "version 5 with a line table of version 4", plain(5).text() + lines()
    yield "version 77", plain(4).text().replace(".short 4", ".short 77") + lines(version=77)
    yield "nested blocks", in_hit(nested(10 * many))
    yield "many variables", in_hit(lambda info: [info.variable(f"v{i}", ".Lint") for i in range(many)])
    yield "many functions", unit_of(lambda info: [(info.function("hit"), info.end()) for i in range(many)])
    yield "a type that is itself", in_hit(variable("v", ".Lself"), outside=reference("typedef", "type", ".Lself", ".Lself"))
    yield "types in a circle", in_hit(variable("v", ".La"), outside=several(
        reference("typedef", "type", ".La", ".Lb"), reference("const_type", "type", ".Lb", ".Lc"),
        reference("typedef", "type", ".Lc", ".La")))
    yield "pointers in a circle", in_hit(variable("v", ".La"), outside=several(
        reference("pointer_type", "type", ".La", ".Lb"), reference("pointer_type", "type", ".Lb", ".La")))
    yield "an array of itself", in_hit(variable("v", ".La"), outside=reference("array_type", "type", ".La", ".La"))
    yield "a structure that holds itself", in_hit(variable("v", ".Lown"), outside=own_struct)
    yield "a chain of types", in_hit(variable("v", ".Lt0"), outside=lambda info: [
        reference("typedef", "type", f".Lt{i}", f".Lt{i + 1}" if i + 1 < many else ".Lint")(info) for i in range(many)])
    for name in ("abstract_origin", "specification"):
        yield f"a variable whose {name} is itself", in_hit(reference("variable", name, ".Lv", ".Lv"))
        yield f"variables whose {name} is each other", in_hit(several(reference("variable", name, ".Lv", ".Lw"),
                                                                     reference("variable", name, ".Lw", ".Lv")))
        yield f"a function whose {name} is itself", in_hit(None, more=((name, "ref4", ".long .Lhit_die-.Lunit"),))
        yield f"a function whose {name} is its child", in_hit(reference("variable", name, ".Lv", ".Lhit_die"),
                                                             more=((name, "ref4", ".long .Lv-.Lunit"),))
    yield "a sibling that is itself", in_hit(lambda info: info.die("lexical_block", True, sibling, label=".Lagain") or info.end())
    yield "a sibling before", in_hit(lambda info: (info.die("variable", False, ("decl_line", "udata", ".uleb128 1"),
                                                            label=".Lagain"),
                                                   info.die("lexical_block", True, sibling), info.end()))
    yield "a sibling outside", in_hit(lambda info: (info.die("lexical_block", True, ("sibling", "ref4", ".long 0x7fffffff")),
                                                    info.end()))
    yield "an import of itself", unit_of(lambda info: info.die("imported_unit", False, ("import", "ref_addr", ".long .Ldie")),
                                         ).replace(
        ".Labbrev\n.byte 8\n", ".Labbrev\n.byte 8\n.Ldie:\n", 1)
    yield "many imports of itself", unit_of(lambda info: [info.die("imported_unit", False, ("import", "ref_addr", ".long .Ldie"))
                                                          for _ in range(40)]).replace(".Labbrev\n.byte 8\n",
                                                                                       ".Labbrev\n.byte 8\n.Ldie:\n", 1)
    yield "a unit without an end", plain().text().replace(".skip 1, 0", "") + lines()
    yield "no abbreviations", plain().text(abbreviations="") + lines()
    yield "an abbreviation without an end", plain().text(abbreviations=".uleb128 1, 0x11\n.byte 1\n.uleb128 3\n") + lines()
    yield "an abbreviation of huge numbers", plain().text(abbreviations=".uleb128 1, 0xffffffffffffffff\n.byte 1\n.uleb128 3, "
                                                          "0xffffffffffffffff\n.byte 0, 0\n.byte 0\n") + lines()
    yield "a number that does not end", in_hit(lambda info: info.body.append(f".skip {many}, 0xff"))
    yield "huge blocks", in_hit(lambda info: info.die("variable", False, ("location", "exprloc", ".uleb128 0xffffffffffffffff")))
    yield "a form by a form by a form", in_hit(lambda info: info.die("variable", False,
                                                                     ("name", "indirect", f".skip {many}, 0x16")))
    yield "a unit of the whole address space", plain().text().replace(".long .Lunit_end-.Lunit_length",
                                                                      ".long 0xfffffff0") + lines()
    yield "a unit of 64 bits", plain().text().replace(".long .Lunit_end-.Lunit_length", ".long 0xffffffff\n.quad -1") + lines()
    yield "split, without its other half", plain(5).text().replace(".byte 1, 8\n", ".byte 4, 8\n.quad 1234\n") + lines()
    yield "an expression that jumps back", in_hit(lambda info: info.die(
        "variable", False, ("name", "string", '.string "v"'), ("decl_line", "udata", ".uleb128 1"),
        ("location", "exprloc", ".uleb128 3\n.byte 0x2f\n.short -3")))
    yield "offsets outside of their sections", in_hit(lambda info: info.die(
        "variable", False, ("name", "strp", ".long 0x7fffffff"), ("decl_line", "udata", ".uleb128 1"),
        ("location", "sec_offset", ".long -2")))
    yield "indexes outside of their tables", in_hit(lambda info: info.die(
        "variable", False, ("name", "strx", ".uleb128 99999999"), ("location", "loclistx", ".uleb128 99999999")), version=5)
    yield "ranges outside", unit_of(lambda info: info.die("subprogram", False, ("name", "string", '.string "r"'),
                                                          ("ranges", "sec_offset", ".long 0x7ffffff0")))
    # Line tables.
    yield "many rows", plain().text() + lines(ADDRESS.format(".Lhit_begin") + ROW.format(8) +
                                              f".fill {50 * many}, 1, 0x12\n" + ADDRESS.format(".Lhit_end") + END)
    yield "many sequences", plain().text() + lines((ADDRESS.format(".Lhit_begin") + ROW.format(8) +
                                                    ADDRESS.format(".Lhit_end") + END) * many)
    yield "many rows of one line", plain().text() + lines(ADDRESS.format(".Lhit_begin") + ROW.format(7) +
                                                          (".byte 3, 1, 0x12\n.byte 3, 0x7f, 0x12\n") * many +
                                                          ADDRESS.format(".Lhit_end") + END)
    yield "a range of zero lines", plain().text() + lines(ROWS + ".fill 100, 1, 200\n", line_range=0)
    yield "a line table that is cut off", plain().text() + lines(length="0x7ffffff0")
    yield "a line table of no length", plain().text() + lines(length="0x2")
    yield "opcodes of many operands", plain().text() + lines(ROWS, operands=",".join(["255"] * 12))
    yield "lines of huge numbers", plain().text() + lines(ADDRESS.format(".Lhit_begin") + ROW.format(-(1 << 62)) +
                                                          ROW.format((1 << 62) + 8) +
                                                          ADDRESS.format(".Lhit_end") + END)
    yield "an extended opcode of huge length", plain().text() + lines(ROWS + ".byte 0\n.uleb128 0xffffffffffffffff\n.byte 2\n")
    yield "files without an end", plain().text() + lines(files=f".fill {many}, 1, 0x41\n")
    yield "many files", plain().text() + lines(files='.string "hostile.c"\n.uleb128 0, 0, 0\n' * many + ".byte 0\n")
    yield "files in folders that are not there", plain().text() + lines(files='.string "hostile.c"\n.uleb128 '
                                                                              '0xffffffffffffffff, 0, 0\n.byte 0\n')
    yield "no line table", plain().text().replace(".long .Lline\n", ".long 0x7ffffff0\n")


def find_section(data, name):
    """Where the header of a section is in an ELF file, and where its name is."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3a)
    strings, = struct.unpack_from("<Q", data, table + names * size + 0x18)
    for header in range(table, table + count * size, size):
        at = strings + struct.unpack_from("<I", data, header)[0]
        if data[at:data.index(b"\0", at)] == name.encode():
            return header, at
    raise KeyError(name)


def compressed_sections():
    """Names, the section that has the bytes, its name if it is to be of the old kind, and its bytes."""
    stream = zlib.compress(bytes(100))
    head = struct.Struct("<IIQQ")  # method, reserved, size, alignment
    bomb = zlib.compress(bytes(64 << 20))
    for name in (".debug_str", ".debug_line", ".debug_info"):
        yield f"{name} of a size that lies", name, None, head.pack(1, 0, 1 << 46, 1) + stream
        yield f"{name} of a small size that lies", name, None, head.pack(1, 0, 8, 1) + stream
        yield f"{name} of a size that is not its own", name, None, head.pack(1, 0, 1 << 20, 1) + stream
        yield f"{name} by an unknown method", name, None, head.pack(77, 0, 100, 1) + stream
        yield f"{name} without a header", name, None, b"\1"
        yield f"{name} that grows a thousand times", name, None, head.pack(1, 0, 64 << 20, 1) + bomb
        yield f"old {name} of a size that lies", name, ".z" + name[1:], b"ZLIB" + struct.pack(">Q", 1 << 46) + stream
        yield f"old {name} that grows a thousand times", name, ".z" + name[1:], b"ZLIB" + struct.pack(">Q", 64 << 20) + bomb


def with_section(program, name, old_name, contents):
    """An ELF file in which one section has other bytes, at the end of the file, and is marked as compressed."""
    data = bytearray(program)
    header, at = find_section(data, name)
    flags = 0 if old_name else 0x800
    struct.pack_into("<Q", data, header + 8, flags)
    struct.pack_into("<QQ", data, header + 0x18, len(data), len(contents))
    if old_name:
        # Its new name is longer: at the end, too, and the table of names reaches there.
        names = struct.unpack_from("<H", data, 0x3e)[0]
        table = struct.unpack_from("<Q", data, 0x28)[0] + names * struct.unpack_from("<H", data, 0x3a)[0]
        begin = struct.unpack_from("<Q", data, table + 0x18)[0]
        data += contents
        struct.pack_into("<I", data, header, len(data) - begin)
        data += old_name.encode() + b"\0"
        struct.pack_into("<Q", data, table + 0x20, len(data) - begin)
    else:
        data += contents
    return bytes(data)
