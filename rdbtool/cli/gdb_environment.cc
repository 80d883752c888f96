// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/gdb_environment.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <unistd.h>

namespace rdb::cli {
namespace {

// What leads to code or settings of the user: Python's and Guile's variables, gdb's history, servers of debug
// information, the language of messages.
constexpr std::string_view kUsers[] = {"PYTHON", "GUILE_", "GDBHIST", "DEBUGINFOD_", "LANGUAGE="};

void unset_all(std::span<const std::string_view> beginnings) {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view variable = *entry;
    if (std::ranges::any_of(beginnings, [&](std::string_view one) { return variable.starts_with(one); }))
      names.emplace_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : names)
    unsetenv(name.c_str());
}

} // namespace

void set_gdb_environment(Whose whose, const std::string& python) {
  // The Python in gdb finds its own library by itself; one that the user has set for another Python would
  // keep it from starting.
  unsetenv("PYTHONHOME");
  if (whose == Whose::users) {
    // In that folder there is what looks in the user's folders after Python's own.
    if (const char* path = std::getenv("PYTHONPATH"); path != nullptr && *path != '\0') {
      setenv("RDB_PYTHONPATH", path, 1);
      setenv("PYTHONPATH", python.c_str(), 1);
    }
    return;
  }
  unset_all(kUsers);
  setenv("PYTHONNOUSERSITE", "1", 1); // modules of the home directory may run code when Python starts
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("TERM", "dumb", 1);
}

std::vector<std::string> gdb_settings(Whose whose, const std::string& sysroot) {
  std::vector<std::string> words = {"-q", "-iex", "set auto-load local-gdbinit off"};
  // Debug information that gdb crashes at is told in one line, not by gdb's own stack.
  if (whose == Whose::ours)
    words.insert(words.end(), {"-nx", "-iex", "maintenance set backtrace-on-fatal-signal off"});
  words.insert(words.end(), {"-iex", "set sysroot " + sysroot});
  // No script in or beside recorded files is run, wherever the user allows that. Not every gdb knows all
  // kinds of scripts.
  words.insert(words.end(), {"-iex", "python exec(\"for kind in ('python', 'gdb', 'guile'):\\n try: "
                                     "gdb.execute('set auto-load ' + kind + '-scripts off')\\n except "
                                     "gdb.error: pass\")"});
  return words;
}

} // namespace rdb::cli
