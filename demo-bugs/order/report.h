// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is printed about a schedule.
#pragma once

#include "schedule.h"

void print_steps(std::ostream& out, const Schedule& schedule);
// One row for each worker, one letter for each minute.
void print_chart(std::ostream& out, const Schedule& schedule);
// How long it takes, how much of that the workers were busy, and what no number of workers could change.
void print_summary(std::ostream& out, const Schedule& schedule, const Graph& graph);
