// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a gdb that rdb starts takes from its surroundings. The user's own gdb is to be as the user has set it
// up in the home directory. One that answers a question for rdb must answer it in the same way for everybody:
// no variable and no file of the home directory changes that. In neither does anything run that lies in the
// current directory, in a recording, or in or beside a recorded file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdb::cli {

enum class Whose : uint8_t { users, ours };

// Changes the environment of this process to what such a gdb gets: for a child, before it executes gdb.
// `python`: the folder of what Python in the user's gdb begins with.
void set_gdb_environment(Whose whose, const std::string& python);

// The first words of gdb's command line. `sysroot`: where the files of the recording are.
std::vector<std::string> gdb_settings(Whose whose, const std::string& sysroot);

} // namespace rdb::cli
