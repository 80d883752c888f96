// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "graph.h"

#include <istream>
#include <sstream>

Task* Graph::find(const std::string& name) {
  for (const auto& task : tasks_)
    if (task->name == name) return task.get();
  tasks_.push_back(std::make_unique<Task>());
  tasks_.back()->name = name;
  return tasks_.back().get();
}

void Graph::read(std::istream& in) {
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name)) continue;
    Task* task = find(name);
    words >> task->minutes;
    while (words >> name)
      task->needs.push_back(find(name));
  }
}
