// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder that rdb made and may delete: a trace, a bundle. The problem: a mistyped name must not cost the
// user other files. So such a folder is looked through before anything is deleted, and then only what belongs
// to it is deleted, from the folder that was opened, whatever becomes of its name meanwhile.
#pragma once

#include "rdbtool/base/owned_fd.h"

#include <functional>
#include <string>

namespace rdb {

class KnownFolder {
public:
  // Does rdb make a file, or a folder, of this name ("1234/inputs") there?
  using Belongs = std::function<bool(const std::string& name, bool is_folder)>;

  // Throws UserError if the path is a link or ends in "." or "..", std::system_error if it cannot be opened.
  KnownFolder(const std::string& path, Belongs belongs);

  // The name of something in it that does not belong there: it has another name, or is a link, a pipe or a
  // device. Empty if there is none.
  std::string stranger() const;

  // Deletes the folder and what belongs to it, with the file `last` after all others, so that what is left of
  // an interrupted removal is known by it. Throws std::system_error.
  void remove(const std::string& last) const;

private:
  std::string stranger_in(int folder, const std::string& prefix) const;
  void remove_in(int folder, const std::string& prefix, const std::string& last) const;

  std::string path_;
  Belongs belongs_;
  OwnedFd folder_;
};

} // namespace rdb
