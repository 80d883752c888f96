// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Byte-code: what the translator writes and the machine runs. An operation takes its operands from the
// operand stack and leaves its result there.
#pragma once

enum {
  kVariables = 26, // a to z
  kMaxCode = 4096,
  kMaxConstants = 256,
};

enum operation {
  OP_CONSTANT, // index of a constant
  OP_LOAD,     // variable
  OP_STORE,    // variable; the value stays on the stack
  OP_ADD,
  OP_SUBTRACT,
  OP_MULTIPLY,
  OP_LESS,
  OP_EQUAL,
  OP_DROP,
  OP_PRINT,
  OP_JUMP,        // two bytes: where to
  OP_BRANCH_ZERO, // two bytes: where to, if the top of the stack is zero
  OP_CALL,        // function; its argument is on the stack, its result will be
  OP_RETURN,
  OP_END,
};

struct code {
  unsigned char bytes[kMaxCode];
  int length;
  struct number* constants[kMaxConstants];
  int constant_count;
  int functions[kVariables]; // where each begins, 0 if it is not defined
  int parameters[kVariables];
};
