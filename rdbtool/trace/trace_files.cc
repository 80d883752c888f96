// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/trace_files.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/output_file.h"
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/format/process_info.h"
#include "rdbtool/trace/ring/ring_file.h"
#include "rdbtool/trace/store.h"

#include <cerrno>
#include <fcntl.h>

namespace rdb::trace {
namespace {

// "metadata.json" of "metadata.json.new-a1b2c3", which a recorder that was killed leaves behind.
std::string finished_name(const std::string& name) {
  size_t at = name.rfind(kUnfinished);
  constexpr size_t kLetters = 6;
  bool unfinished = at != std::string::npos && name.size() == at + kUnfinished.size() + kLetters;
  return unfinished ? name.substr(0, at) : name;
}

// A ring of a process that has no folder yet: "ring-1".
bool is_early_ring(const std::string& name) {
  constexpr std::string_view kBegin = "ring-";
  return name.starts_with(kBegin) && name.size() > kBegin.size() &&
         name.find_first_not_of("0123456789", kBegin.size()) == std::string::npos;
}

} // namespace

bool is_trace_folder(const std::string& name) {
  return name == "files" || is_process_folder(name);
}

bool is_recorded_file(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name == "metadata.json";
  ContentId unused;
  if (folder == "files") return parse_content_id(name, unused);
  return is_process_folder(folder) && (name == "process.json" || name == "inputs" || name == "chunks");
}

bool is_trace_file(const std::string& folder, const std::string& name) {
  if (folder.empty() && (name == "lock" || name == "reserve" || is_early_ring(name))) return true;
  if (is_process_folder(folder) && name == kRingFile) return true;
  if (folder == "files" && name == ".new") return true;
  return is_recorded_file(folder, finished_name(name));
}

OwnedFd open_in_trace(const std::string& trace_path, const std::string& name) {
  std::string path = trace_path + "/" + name;
  OwnedFd folder(open(trace_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  size_t slash = name.find('/');
  if (folder && slash != std::string::npos) {
    std::string inner = name.substr(0, slash);
    folder = OwnedFd(openat(folder.get(), inner.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder && (errno == ENOTDIR || errno == ELOOP))
      user_error("{}/{}: not a folder of a trace", trace_path, inner);
  }
  std::string last = slash == std::string::npos ? name : name.substr(slash + 1);
  if (!folder && errno == ELOOP) user_error("{}: a link, and no file of a trace", path);
  if (!folder) throw_errno(path, "cannot open");
  return open_part(path, folder.get(), last);
}

bool is_trace_name(const std::string& name) {
  constexpr size_t kLongest = 100; // as in an archive
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
  return !name.empty() && name.size() <= kLongest && name[0] != '.' && name[0] != '-' && name != "latest" &&
         name.find_first_not_of(kPlain) == std::string::npos;
}

} // namespace rdb::trace
