// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of the day: the accounts as they are now, and whether they are as they should be.
#pragma once

#include <stdbool.h>

// False if an account differs from what the journal says.
bool report(void);
