// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The log on the disk: what is written is appended, and old parts are moved out of the way.
#pragma once

#include "config.h"

bool logfile_open(const struct config* config);
bool logfile_write(const char* bytes, size_t length);
void logfile_close(void);
