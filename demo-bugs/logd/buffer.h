// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines on their way to the log, collected so that the disk is not bothered for each.
#pragma once

#include "message.h"

void buffer_add(const struct message* message);
bool buffer_flush(void); // false if the log cannot be written
