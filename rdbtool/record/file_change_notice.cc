// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/file_change_notice.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/record/shared_memory/process_liveness.h"

#include <algorithm>
#include <ctime>
#include <dirent.h>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/syscall.h>

namespace rdb::record {
namespace {

// Of a thread, as in /proc/PID/task/TID/stat; 0 if there is none.
char state_of_thread(int32_t process, const char* thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  std::string line;
  std::getline(file, line);
  size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '\0' : line[name_end + 2];
}

// Whether none of its threads executes anything: each sleeps in a call, is stopped, or is gone. (One that
// waits for a page of a file to be read from disk is in the middle of an instruction: its state is D.)
bool is_at_rest(int32_t process) {
  DIR* threads = opendir(fmt::format("/proc/{}/task", process).c_str());
  if (threads == nullptr) {
    if (is_alive(static_cast<uint32_t>(process)))
      limit("a change of a file that process {} has mapped, whose threads /proc does not show", process);
    return true;
  }
  bool at_rest = true;
  while (dirent* entry = readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    char state = state_of_thread(process, entry->d_name);
    at_rest = at_rest && std::string_view("RDPW").find(state) == std::string_view::npos;
  }
  closedir(threads);
  return at_rest;
}

} // namespace

bool FileChangeNotice::begin(uint64_t device, uint64_t inode) {
  if (!log_.may_be_mapped(trace::FilePart::bit_of(device, inode))) return false;
  size_t count = log_.begin_file_change(device, inode);
  constexpr long kMost = 2'000'000;
  for (size_t i = 0; i < count; ++i)
    for (timespec pause{0, 50'000};; pause.tv_nsec = std::min(pause.tv_nsec * 2, kMost)) {
      // It may have ended meanwhile, or become another program.
      int32_t process = log_.holding_process(i);
      if (process == 0 || is_at_rest(process)) break;
      raw_syscall(SYS_nanosleep, raw_pointer(&pause), 0);
    }
  return true;
}

void FileChangeNotice::end(uint64_t device, uint64_t inode, FileChange::Range changed) {
  log_.end_file_change({device, inode, changed.begin, changed.end});
}

} // namespace rdb::record
