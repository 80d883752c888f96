// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder that only this user can enter, and that is gone with everything in it when its owner is.
#pragma once

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace rdb {

class TemporaryFolder {
public:
  // `name` is the beginning of its name.
  explicit TemporaryFolder(const std::string& name)
      : path_((std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string()) {
    if (mkdtemp(path_.data()) == nullptr)
      user_error("cannot make the temporary folder {}: {}", path_, std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

} // namespace rdb
