// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/own_executable.h"

#include "rdbtool/base/error.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace rdb::guest {
namespace {

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\0', at);
    if (end == std::string::npos) end = text.size();
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

} // namespace

Self self_of(const std::string& executable, std::span<const std::string> command) {
  bool loader = std::filesystem::path(executable).filename().string().starts_with("ld-linux");
  // LOADER --library-path FOLDER PROGRAM ..., as the launcher of an installation puts it.
  constexpr size_t kWords = 4;
  if (!loader || command.size() < kWords) return {executable, {"rdb"}};
  return {command[kWords - 1], {command.begin(), command.begin() + kWords}};
}

void require_proc() {
  if (access("/proc/self/maps", R_OK) != 0)
    user_error("/proc is not mounted here, and rdb needs it (mount -t proc proc /proc)");
}

const Self& self() {
  require_proc();
  static const Self self = self_of(std::filesystem::read_symlink("/proc/self/exe").string(), own_command());
  return self;
}

} // namespace rdb::guest
