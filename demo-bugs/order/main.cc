// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// order [--limit MINUTES] <TASKS: makes a schedule; status 1 if it takes longer than the limit.
#include "schedule.h"

#include <cstdlib>
#include <cstring>
#include <iostream>

int main(int argc, char** argv) {
  int limit = argc > 2 && std::strcmp(argv[1], "--limit") == 0 ? std::atoi(argv[2]) : 1 << 30;
  Graph graph;
  graph.read(std::cin);
  int end = 0;
  for (const Step& step : make_schedule(graph)) {
    std::cout << step.begin << " worker " << step.worker << ": " << step.task->name << "\n";
    end = std::max(end, step.begin + step.task->minutes);
  }
  std::cout << "done after " << end << " minutes" << std::endl;
  return end > limit;
}
