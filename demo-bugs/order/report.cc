// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include <algorithm>
#include <ostream>

namespace {

// The minutes from the beginning to the end of a task if there are workers enough.
int least_end(const Task& task) {
  int begin = 0;
  for (const Task* needed : task.needs)
    begin = std::max(begin, least_end(*needed));
  return begin + task.minutes;
}

} // namespace

void print_steps(std::ostream& out, const Schedule& schedule) {
  for (const Step& step : schedule.steps)
    out << step.begin << " worker " << step.worker << ": " << step.task->name << "\n";
}

void print_chart(std::ostream& out, const Schedule& schedule) {
  for (int worker = 0; worker < schedule.workers; worker++) {
    std::string row(static_cast<size_t>(schedule.end()), '.');
    for (const Step& step : schedule.steps)
      if (step.worker == worker)
        row.replace(static_cast<size_t>(step.begin), step.task->minutes, step.task->minutes,
                    step.task->name[0]);
    out << worker << " " << row << "\n";
  }
}

void print_summary(std::ostream& out, const Schedule& schedule, const Graph& graph) {
  int busy = 0, least = 0;
  for (const auto& task : graph.tasks()) {
    busy += task->minutes;
    least = std::max(least, least_end(*task));
  }
  int end = schedule.end();
  out << "done after " << end << " minutes (at least " << least << "), workers busy "
      << (end ? 100 * busy / (end * schedule.workers) : 0) << " % of the time" << std::endl;
}
