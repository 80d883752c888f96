// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A part of some data: where it begins, and how long it is.
#pragma once

#include "data.h"

#include <stdbool.h>

struct slice {
  int offset;
  int length;
};

bool slice_is_inside(struct slice slice, const struct data* data);
unsigned slice_checksum(struct slice slice, const struct data* data);
