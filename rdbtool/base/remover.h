// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that removes an unfinished file or a temporary folder when its owner has ended before it could do
// so itself, by whatever signal.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

namespace rdb {

class Remover {
public:
  // Makes something under a name that nothing has yet: `prefix`, and six letters or digits that nobody can
  // guess. `make` makes it at the path that it is given, or fails with errno set, EEXIST where something is
  // there already. The process that removes it is started first: there is no moment at which the thing exists
  // and a signal could leave it behind. Null if `make` has failed; errno says why. Throws UserError if no
  // process can be started. Programs that this process starts from here on are owners, too.
  static std::unique_ptr<Remover> make(const std::string& prefix,
                                       const std::function<bool(const char* path)>& make);
  // From here on there is nothing to remove.
  ~Remover();
  Remover(const Remover&) = delete;
  Remover& operator=(const Remover&) = delete;

  const std::string& path() const { return path_; }

private:
  explicit Remover(std::string path);

  std::string path_;
  int in_use_ = -1; // the process waits until nobody has this open
  pid_t process_ = -1;
};

} // namespace rdb
