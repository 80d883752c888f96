// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder that only this user can enter, and that is gone with everything in it when its owner is, however
// the owner ends (remover.h).
#pragma once

#include "rdbtool/base/remover.h"

#include <memory>
#include <string>

namespace rdb {

// Where temporary files go, and the variable that says so.
struct TemporaryPlace {
  std::string path = "/tmp";
  std::string variable = "TMPDIR";

  // As compilers and others look for it.
  static TemporaryPlace chosen();
  // For the user. errno says what went wrong there.
  std::string trouble() const;
};

class TemporaryFolder {
public:
  // `name` is the beginning of its name.
  explicit TemporaryFolder(const std::string& name);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return remover_->path(); }

private:
  std::unique_ptr<Remover> remover_;
};

} // namespace rdb
