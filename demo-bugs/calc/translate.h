// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From text to byte-code.
#pragma once

#include "code.h"

// Adds the byte-code of `text` to `code`, and OP_END. Returns where the statements outside of functions
// begin. Ends the program with a message if there is something wrong with the text.
int translate(struct code* code, const char* text);
