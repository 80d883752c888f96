// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks, and which must be done before which.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct Task {
  std::string name;
  int minutes = 0;
  std::vector<Task*> needs;
};

class Graph {
public:
  // "NAME MINUTES NEEDED..." a line.
  void read(std::istream& in);
  const std::vector<std::unique_ptr<Task>>& tasks() const { return tasks_; }

private:
  Task* find(const std::string& name);

  std::vector<std::unique_ptr<Task>> tasks_;
};
