// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "schedule.h"

#include "pointer_map.h"

#include <algorithm>

namespace {

constexpr int kNotDone = -1;
constexpr size_t kSlots = 61;

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

std::vector<Step> make_schedule(const Graph& graph) {
  Ends ends(kSlots);
  for (const auto& task : graph.tasks())
    ends[task.get()] = kNotDone;
  int free_at[2] = {0, 0};
  std::vector<Step> steps;
  while (const Task* task = choose(ends)) {
    int worker = free_at[0] <= free_at[1] ? 0 : 1;
    int begin = free_at[worker];
    for (const Task* needed : task->needs)
      begin = std::max(begin, ends[needed]);
    steps.push_back({task, worker, begin});
    free_at[worker] = ends[task] = begin + task->minutes;
  }
  return steps;
}
