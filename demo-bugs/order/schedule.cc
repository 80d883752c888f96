// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule.h"

#include "pointer_map.h"

#include <algorithm>

namespace {

constexpr int kNotDone = -1;

// When each task is done.
using Ends = PointerMap<Task, int>;

bool is_ready(const Task& task, Ends& ends) {
  return std::all_of(task.needs.begin(), task.needs.end(), [&](Task* t) { return ends[t] != kNotDone; });
}

// The longest of the tasks that could begin now.
const Task* choose(Ends& ends) {
  const Task* best = nullptr;
  for (const auto& [task, end] : ends)
    if (task && end == kNotDone && is_ready(*task, ends) && (!best || task->minutes > best->minutes))
      best = task;
  return best;
}

} // namespace

int Schedule::end() const {
  int end = 0;
  for (const Step& step : steps)
    end = std::max(end, step.end());
  return end;
}

Schedule make_schedule(const Graph& graph, int workers) {
  Ends ends;
  for (const auto& task : graph.tasks())
    ends[task.get()] = kNotDone;
  std::vector<int> free_at(static_cast<size_t>(workers));
  Schedule schedule = {workers, {}};
  while (const Task* task = choose(ends)) {
    auto first = std::min_element(free_at.begin(), free_at.end());
    int begin = *first;
    for (const Task* needed : task->needs)
      begin = std::max(begin, ends[needed]);
    schedule.steps.push_back({task, static_cast<int>(first - free_at.begin()), begin});
    *first = ends[task] = begin + task->minutes;
  }
  return schedule;
}
