// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines on their way to the log file, collected so that the file is not written for each.
#pragma once

#include "message.h"

void buffer_add(const struct message* message);
void buffer_flush(void);
