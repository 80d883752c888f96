# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares two ELF64 objects section by section, leaving out sections whose names begin with .rdb."""
import struct


def sections(data):
    """[(name, type, flags, link, info, alignment, entry size, content)]; link and info are section numbers."""
    assert data[:5] == b"\x7fELF\x02", "not an ELF64 file"
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names_index = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    names = data[headers[names_index][4]:][:headers[names_index][5]]
    result = []
    for name, kind, flags, _, start, length, link, info, alignment, entry in headers:
        text = names[name:names.index(b"\0", name)].decode()
        content = data[start:start + length] if kind not in (0, 8) else length
        result.append((text, kind, flags, link, info, alignment, entry, content))
    return result


def differences(expected, found):
    """What is not the same, in words."""
    before, after = sections(expected), sections(found)
    extra = after[len(before):]
    problems = [f"section {s[0]} was added" for s in extra if not s[0].startswith(".rdb") or not s[2] & 0x80000000]
    for old, new in zip(before, after):
        # The object's own table of section names may stay, unused; everything else must be as it was.
        if old[0] != new[0]:
            problems.append(f"section {old[0]} became {new[0]}")
        elif old != new:
            problems.append(f"section {old[0]} differs")
    if len(after) < len(before):
        problems.append(f"{len(before) - len(after)} sections are missing")
    return problems
