// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/temporary_folder.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

namespace rdb {

TemporaryPlace TemporaryPlace::chosen() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      return {value, variable};
  return {};
}

std::string TemporaryPlace::trouble() const {
  return fmt::format(
      "cannot make a temporary file or folder in {}: {}; set {} to a folder that you can write to", path,
      std::strerror(errno), variable);
}

TemporaryFolder::TemporaryFolder(const std::string& name) {
  TemporaryPlace place = TemporaryPlace::chosen();
  std::string prefix = std::filesystem::absolute(place.path) / (name + "-");
  remover_ = Remover::make(prefix, [](const char* path) { return mkdir(path, 0700) == 0; });
  if (!remover_) user_error("{}", place.trouble());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path(), ignored);
}

} // namespace rdb
