// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates the expressions of the descriptors. An optimised program often keeps no variable where its source
// has one: what is left is a recipe, such as "the word at rbx + 16, less 1". The descriptors have it as steps
// of a small stack machine, whose inputs are the registers and the memory of the thread that has stopped.
#pragma once

#include "descriptors/descriptor.h"
#include "rdbtool/engine/translator.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rdb::debug {

// What a region's arguments are computed from.
struct ArgumentSource {
  engine::Translator& engine;
  engine::GuestMemory& memory;
  uint64_t bias = 0;      // of the program
  uint64_t tls_block = 0; // address of the program's thread-local block in this thread
};

// The value of a general register by its DWARF number.
uint64_t general_register(const engine::Registers& registers, descriptors::Register number);

// The value on top of the stack after the last step. Nothing if memory cannot be read, if something is
// divided by zero, or if a step finds too few values.
std::optional<uint64_t> evaluate(const std::vector<descriptors::Step>& steps, const ArgumentSource& source);

} // namespace rdb::debug
