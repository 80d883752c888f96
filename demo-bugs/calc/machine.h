// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine that runs byte-code.
#pragma once

#include "code.h"

struct operand {
  struct number* value;
  struct operand* below;
};

struct machine {
  const struct code* code;
  struct operand* top; // the operand stack
  struct number* variables[kVariables];
};

void machine_start(struct machine* m, const struct code* code);
void machine_run(struct machine* m, int pc);
