// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks, and which must be done before which.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

struct Task {
  std::string name;
  int minutes = 0;
  int line = 0; // where it is described; 0: nowhere
  std::vector<Task*> needs;
};

class Graph {
public:
  // "NAME MINUTES NEEDED..." a line; "#" begins a comment. A task may be needed before it is described.
  // Throws std::runtime_error if that makes no sense.
  void read(std::istream& in);

  const std::vector<std::unique_ptr<Task>>& tasks() const { return tasks_; }
  const Task* find(const std::string& name) const;

private:
  Task* make(const std::string& name);
  void read_task(const std::string& line, int number);
  void check() const;

  std::vector<std::unique_ptr<Task>> tasks_;
};
