// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tells rdb's options from the guest's command line, and finds the guest's program as a shell would.
#include "rdbtool/cli/guest_command.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

// 0 if the file can be run, else the reason as an errno.
int why_not_runnable(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  if (!S_ISREG(info.st_mode)) return EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

} // namespace

void take_guest_command(CommandOptions& command) {
  command.expect_program();
}

GuestCommand guest_command(const CommandOptions& options) {
  // CLI11 leaves here what it did not take: options it does not know, then "--", or else the program, and the
  // rest.
  std::vector<std::string> words = options.other_words();
  const std::string& command = options.command();
  if (!words.empty() && words[0] == "--") {
    words.erase(words.begin());
  } else if (!words.empty() && words[0].size() > 1 && words[0][0] == '-') {
    user_error("{}: unknown option '{}'; 'rdb help {}' lists its options, those of PROGRAM stand after it",
               command, words[0], command);
  }
  if (words.empty())
    user_error("{}: no program given; write rdb {} [options] PROGRAM [ARGS...]", command, command);
  return {find_program(words[0]), words};
}

std::string find_program(const std::string& name) {
  if (name.empty()) user_error("the program's name is empty");
  if (name.find('/') != std::string::npos) {
    if (int reason = why_not_runnable(name)) user_error("cannot run {}: {}", name, std::strerror(reason));
    return name;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  std::string seen; // found, but cannot be run
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = folder.empty() ? "./" + name : folder + "/" + name;
    int reason = why_not_runnable(candidate);
    if (reason == 0) return candidate;
    if (reason == EACCES && seen.empty()) seen = candidate;
  }
  if (!seen.empty()) user_error("cannot run {}: {}", seen, std::strerror(EACCES));
  if (why_not_runnable(name) == 0)
    user_error("there is no program '{}' in PATH; for the one in this folder write ./{}", name, name);
  user_error("there is no program '{}' in PATH", name);
}

} // namespace rdb::cli
