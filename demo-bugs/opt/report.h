// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is printed about each part, and about all of them.
#pragma once

#include "index.h"

struct totals {
  int parts;
  int outside; // of the data
  int changed; // not what the index says
};

void report_part(const struct part* part, const struct data* data, struct totals* totals);
void report_totals(const struct totals* totals, const struct data* data);
