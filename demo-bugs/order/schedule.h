// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two workers, and which task each begins when.
#pragma once

#include "graph.h"

struct Step {
  const Task* task;
  int worker;
  int begin;
};

std::vector<Step> make_schedule(const Graph& graph);
