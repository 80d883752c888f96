// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a trace says about one process image, in the process.json of its folder. Written once, when it starts;
// how it ended is the last record of its input log.
#pragma once

#include "rdbtool/trace/format/input.h"

#include <string>

namespace rdb::trace {

struct ProcessInfo {
  std::string name;    // of the folder: the pid, or pid.2 for its second image and so on
  uint64_t number = 0; // 1, 2, 3 ... in the order of their starts
  ProcessOrigin origin = ProcessOrigin::spawned;
  int32_t pid = 0;
  int32_t parent_pid = 0;
  std::string parent; // the folder of the process that forked or execed; empty for the first
  Time parent_time;
  std::string program;
};

// "1234" or "1234.2"
bool is_process_folder(const std::string& name);

std::string to_json(const ProcessInfo& info);
// Throws UserError naming `path` and what is wrong.
ProcessInfo process_info_from_json(std::string_view text, const std::string& name, const std::string& path);

} // namespace rdb::trace
