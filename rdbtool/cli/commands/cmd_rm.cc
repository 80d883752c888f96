// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb rm: deletes recordings.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/trace/trace_dir.h"

#include <memory>

namespace rdb::cli {

Action setup_rm(CommandOptions& command) {
  auto names = std::make_shared<std::vector<std::string>>();
  command.option("TRACE", *names, "Recordings to delete: names as rdb ls shows them, or directories");
  return [names] {
    if (names->empty()) user_error("rm: no recording named; 'rdb help rm' says what it takes");
    // All of them are looked up and looked through first: a mistyped name deletes nothing.
    std::vector<std::string> paths;
    for (const std::string& name : *names)
      paths.push_back(trace::find_trace(name));
    for (const std::string& path : paths)
      trace::check_removable(path);
    for (const std::string& path : paths)
      trace::remove_trace(path);
    return 0;
  };
}

} // namespace rdb::cli
