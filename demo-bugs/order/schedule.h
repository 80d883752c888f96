// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which worker begins which task when.
#pragma once

#include "graph.h"

struct Step {
  const Task* task;
  int worker;
  int begin;

  int end() const { return begin + task->minutes; }
};

struct Schedule {
  int workers;
  std::vector<Step> steps; // in the order of their decision

  int end() const; // of the last one
};

// The longest of the tasks that are ready goes first, to the worker who is free first.
Schedule make_schedule(const Graph& graph, int workers);
