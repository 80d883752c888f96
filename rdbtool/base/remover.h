// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that removes an unfinished file or a temporary folder when its owner has ended before it could do
// so itself, by whatever signal.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace rdb {

// No signal may come between the making of a file and the start of its remover.
class AllSignalsBlocked {
public:
  AllSignalsBlocked();
  ~AllSignalsBlocked();
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

private:
  uint64_t before_ = 0;
};

class Remover {
public:
  // An absolute path. If no process can be started, removes it at once and throws UserError. Programs that
  // this process starts from here on are owners, too.
  explicit Remover(std::string path);
  // From here on there is nothing to remove.
  ~Remover();
  Remover(const Remover&) = delete;
  Remover& operator=(const Remover&) = delete;

private:
  std::string path_;
  int in_use_ = -1; // the process waits until nobody has this open
  pid_t process_ = -1;
};

} // namespace rdb
