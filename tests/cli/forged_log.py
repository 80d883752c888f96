# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Log files of a trace with other contents and checksums that fit: what an accident never makes, and people can.
docs/trace-format.md describes the bytes."""
import struct

HEADER = 64
BLOCK = struct.Struct("<IIQIIQQQIIQIIQQ")
FIELDS = ("magic", "flags", "sequence", "stored_size", "raw_size", "first_time", "last_time", "first_record", "record_count",
          "first_ordinal", "chunks", "close", "hashes_size", "payload_hash", "header_hash")
RAW, LAST = 1, 2
MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def rotated(value, count):
    return ((value << count) | (value >> (64 - count))) & MASK


def mixed(lane, word):
    return rotated((lane + word * P2) & MASK, 31) * P1 & MASK


def xxh64(data, seed):
    """The hash of that name."""
    at = 0
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while at + 32 <= len(data):
            lanes = [mixed(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        result = sum(rotated(lane, count) for lane, count in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            result = ((result ^ mixed(0, lane)) * P1 + P4) & MASK
    else:
        result = (seed + P5) & MASK
    result = (result + len(data)) & MASK
    while at + 8 <= len(data):
        result = (rotated(result ^ mixed(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        result = (rotated(result ^ struct.unpack_from("<I", data, at)[0] * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        result = rotated(result ^ byte * P5 & MASK, 11) * P1 & MASK
    for shift, factor in ((33, P2), (29, P3), (32, 1)):
        result = (result ^ result >> shift) * factor & MASK
    return result


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


class Log:
    """A log file: its header, and its blocks as dictionaries of the fields and the stored bytes."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        self.header, at = data[:HEADER], HEADER
        self.seed = struct.unpack_from("<Q", self.header, 56)[0]
        self.blocks = []
        while at < len(data):
            block = dict(zip(FIELDS, BLOCK.unpack_from(data, at)))
            at += BLOCK.size
            block["stored"] = data[at:at + block["stored_size"]]
            at += block["stored_size"]
            self.blocks.append(block)

    def write(self):
        """Back to its file, with sizes and checksums that fit."""
        data, records = self.header, 0
        for block in self.blocks:
            block["stored_size"] = len(block["stored"])
            block["first_record"] = records
            records += block["record_count"]
            block["payload_hash"] = xxh64(block["stored"], self.seed)
            head = BLOCK.pack(*(block[name] for name in FIELDS))[:-8]
            data += head + struct.pack("<Q", xxh64(head, self.seed)) + block["stored"]
        with open(self.path, "wb") as file:
            file.write(data)


def forge_turn(path):
    """Gives the last part of the last turn to a thread that does not exist."""
    log = Log(path)
    block = [one for one in log.blocks if not one["flags"] & LAST][-1]
    assert block["flags"] & RAW, "a block of few turns is not compressed"
    at = begin = 0
    for _ in range(block["record_count"]):
        begin = at
        _, after_thread = read_varint(block["stored"], begin)
        count, at = read_varint(block["stored"], after_thread)
    other = varint(2)  # the next number, as a signed difference
    good = count - count // 40
    turns = block["stored"][begin:after_thread] + varint(good) + other + varint(count - good)
    block["stored"] = block["stored"][:begin] + turns + block["stored"][at:]
    block["raw_size"] = len(block["stored"]) - block["hashes_size"]
    block["record_count"] += 1
    log.write()


def forge_registers(path):
    """Changes what is known about the registers at one of the last system calls."""
    log = Log(path)
    block = [one for one in log.blocks if one["hashes_size"] > 0][-1]
    at = len(block["stored"]) - 3 * 8
    block["stored"] = block["stored"][:at] + bytes([block["stored"][at] ^ 1]) + block["stored"][at + 1:]
    log.write()
