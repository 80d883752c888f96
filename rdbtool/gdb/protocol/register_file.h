// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ThreadRegisters as gdb numbers and names them: one table gives the target description (XML), the bytes of g
// and p packets, and the values that agent expressions ask for.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <optional>
#include <span>
#include <string>

namespace rdb::gdb {

// gdb's numbers of the registers that stop replies carry.
inline constexpr unsigned kRegisterRbp = 6;
inline constexpr unsigned kRegisterRsp = 7;
inline constexpr unsigned kRegisterRip = 16;

unsigned register_count();
// target.xml: amd64 with SSE, AVX, the segment bases and Linux's orig_rax.
std::string target_description();

// In the program's byte order; nothing if there is no such register.
std::optional<Bytes> register_bytes(const ThreadRegisters& registers, unsigned number);
bool set_register_bytes(ThreadRegisters& registers, unsigned number, std::span<const std::byte> bytes);

// All of them, as g and G have them.
Bytes all_register_bytes(const ThreadRegisters& registers);
bool set_all_register_bytes(ThreadRegisters& registers, std::span<const std::byte> bytes);

// ThreadRegisters of 64 bits or less, as a number.
std::optional<uint64_t> register_number_value(const ThreadRegisters& registers, unsigned number);

} // namespace rdb::gdb
