// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// order [--workers N] [--limit MINUTES] [--chart] <TASKS: makes a schedule for the tasks of a build; status 1
// if it takes longer than the limit.
#include "report.h"

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <stdexcept>

int main(int argc, char** argv) {
  int workers = 2;
  int limit = std::numeric_limits<int>::max();
  bool chart = false;
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--chart") == 0) {
      chart = true;
    } else if (i + 1 < argc && std::strcmp(argv[i], "--workers") == 0) {
      workers = std::atoi(argv[++i]);
    } else if (i + 1 < argc && std::strcmp(argv[i], "--limit") == 0) {
      limit = std::atoi(argv[++i]);
    } else {
      workers = 0;
    }
  }
  if (workers < 1) {
    std::cerr << "usage: order [--workers N] [--limit MINUTES] [--chart] <TASKS" << std::endl;
    return 2;
  }
  try {
    Graph graph;
    graph.read(std::cin);
    Schedule schedule = make_schedule(graph, workers);
    if (chart) {
      print_chart(std::cout, schedule);
    } else {
      print_steps(std::cout, schedule);
    }
    print_summary(std::cout, schedule, graph);
    return schedule.end() > limit;
  } catch (const std::runtime_error& error) {
    std::cerr << "order: " << error.what() << std::endl;
    return 2;
  }
}
