// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph.h"

#include <algorithm>
#include <istream>
#include <sstream>
#include <stdexcept>

namespace {

// Follows what a task needs. Throws if that leads back to one of those it came from.
void walk(const Task& task, std::vector<const Task*>& way, std::vector<const Task*>& good) {
  if (std::find(good.begin(), good.end(), &task) != good.end()) return;
  auto again = std::find(way.begin(), way.end(), &task);
  if (again != way.end()) {
    std::string names;
    for (; again != way.end(); ++again)
      names += (*again)->name + " needs ";
    throw std::runtime_error(names + task.name);
  }
  way.push_back(&task);
  for (const Task* needed : task.needs)
    walk(*needed, way, good);
  way.pop_back();
  good.push_back(&task);
}

} // namespace

const Task* Graph::find(const std::string& name) const {
  for (const auto& task : tasks_)
    if (task->name == name) return task.get();
  return nullptr;
}

Task* Graph::make(const std::string& name) {
  if (const Task* known = find(name)) return const_cast<Task*>(known);
  tasks_.push_back(std::make_unique<Task>());
  tasks_.back()->name = name;
  return tasks_.back().get();
}

void Graph::read(std::istream& in) {
  std::string line;
  for (int number = 1; std::getline(in, line); number++)
    read_task(line.substr(0, line.find('#')), number);
  check();
}

void Graph::read_task(const std::string& line, int number) {
  std::istringstream words(line);
  std::string name;
  if (!(words >> name)) return;
  Task* task = make(name);
  auto fail = [&](const std::string& what) {
    throw std::runtime_error("line " + std::to_string(number) + ": " + name + " " + what);
  };
  if (task->line) fail("is described in line " + std::to_string(task->line) + " too");
  task->line = number;
  if (!(words >> task->minutes) || task->minutes <= 0) fail("needs a number of minutes");
  std::string needed;
  while (words >> needed)
    task->needs.push_back(make(needed));
}

void Graph::check() const {
  std::vector<const Task*> way, good;
  for (const auto& task : tasks_) {
    if (task->line == 0) throw std::runtime_error(task->name + " is needed, but not described");
    walk(*task, way, good);
  }
}
