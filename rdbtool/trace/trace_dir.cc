// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/trace_dir.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/trace/file_io.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace fs = std::filesystem;

namespace rdb::trace {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_trace(const std::string& path) {
  struct stat status = {};
  return lstat((path + "/metadata.json").c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void make_root(const std::string& root) {
  std::error_code error;
  fs::path parent = fs::path(root).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  // Recordings hold secrets: nobody else lists them either.
  if (mkdir(root.c_str(), 0700) != 0 && errno != EEXIST)
    user_error("{}: cannot make the directory for traces: {} (set RDB_TRACE_DIR to another)", root,
               std::generic_category().message(errno));
}

// The N of "program-N"; -1 for any other name.
int number_of(const std::string& name, const std::string& program) {
  if (name.size() <= program.size() + 1 || !name.starts_with(program) || name[program.size()] != '-')
    return -1;
  std::string digits = name.substr(program.size() + 1);
  if (digits.size() > 9 ||
      !std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return -1;
  return static_cast<int>(std::strtol(digits.c_str(), nullptr, 10));
}

// Sorts by age: the time the metadata was first written is the directory's; names break ties.
std::pair<int64_t, std::string> age_key(const std::string& root, const std::string& name) {
  struct stat status = {};
  // The lock file is made when the recording begins and never touched again.
  if (stat((root + "/" + name + "/lock").c_str(), &status) != 0) stat((root + "/" + name).c_str(), &status);
  return {int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec, name};
}

} // namespace

std::string trace_root() {
  if (std::string root = environment("RDB_TRACE_DIR"); !root.empty()) return root;
  if (std::string data = environment("XDG_DATA_HOME"); !data.empty()) return data + "/rdb";
  if (std::string home = environment("HOME"); !home.empty()) return home + "/.local/share/rdb";
  user_error("no directory for traces: none of RDB_TRACE_DIR, XDG_DATA_HOME and HOME is set");
}

std::string find_trace(const std::string& name) {
  if (name.empty()) {
    std::string latest = trace_root() + "/latest";
    if (is_trace(latest)) return fs::canonical(latest).string();
    user_error("no trace: {} has no latest recording (make one with rdb record, or name a trace)",
               trace_root());
  }
  std::error_code ignored;
  if (name.find('/') == std::string::npos) {
    std::string inside = trace_root() + "/" + name, here = "./" + name;
    if (is_trace(inside) && is_trace(here) && !fs::equivalent(inside, here, ignored))
      user_error("{}: there are two traces of this name, {} and {}; name one by its path", name, here,
                 inside);
    if (is_trace(inside)) return name == "latest" ? fs::canonical(inside).string() : inside;
    if (is_trace(here)) return here;
  } else if (is_trace(name)) {
    return name;
  }
  if (fs::is_regular_file(name, ignored))
    user_error("{}: a file, not a trace (if it was made by rdb pack, use rdb unpack first)", name);
  if (fs::is_directory(name, ignored)) user_error("{}: not a trace (it has no metadata.json)", name);
  user_error("{}: no such trace, here or in {} (rdb ls lists them)", name, trace_root());
}

std::string as_path(const std::string& path) {
  return path.find('/') == std::string::npos ? "./" + path : path;
}

void check_new_trace(const std::string& directory) {
  std::error_code ignored;
  if (!is_visible(directory) || directory.starts_with('-'))
    user_error("{}: no name for a trace: it has characters that cannot be seen, or begins with a dash",
               directory);
  fs::path path = fs::absolute(directory).lexically_normal();
  if (path.filename().empty()) path = path.parent_path(); // it ends in a slash
  if (path.filename() == "latest" && fs::equivalent(path.parent_path(), trace_root(), ignored))
    user_error("{}: no name for a trace: it stands for the newest one", directory);
}

std::string make_trace_directory(const std::string& program) {
  std::string root = trace_root();
  make_root(root);
  int last = -1;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, error))
    last = std::max(last, number_of(entry.path().filename().string(), program));
  // Another recorder may take the same number at the same time: mkdir decides.
  for (int n = last + 1;; ++n) {
    std::string path = fmt::format("{}/{}-{}", root, program, n);
    if (mkdir(path.c_str(), 0700) == 0) return path;
    if (errno != EEXIST)
      user_error("{}: cannot make a directory for the trace: {}", path,
                 std::generic_category().message(errno));
  }
}

void set_latest(const std::string& path) {
  std::string root = trace_root();
  std::error_code error;
  if (!fs::equivalent(fs::path(path).parent_path(), root, error)) return;
  std::string link = root + "/latest";
  // A link cannot be replaced in place; a rename can.
  std::string fresh = fmt::format("{}/.latest.{}", root, getpid());
  unlink(fresh.c_str());
  if (symlink(fs::path(path).filename().c_str(), fresh.c_str()) != 0)
    throw_errno(fresh, "cannot make a link");
  if (rename(fresh.c_str(), link.c_str()) != 0) {
    unlink(fresh.c_str());
    throw_errno(link, "cannot make a link");
  }
}

std::vector<std::string> list_traces() {
  std::string root = trace_root();
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_of(root)) {
    std::string name = entry.path().filename().string();
    if (!entry.is_symlink() && is_trace(entry.path().string())) names.push_back(name);
  }
  std::sort(names.begin(), names.end(),
            [&](const std::string& a, const std::string& b) { return age_key(root, a) < age_key(root, b); });
  return names;
}

RecorderLock::RecorderLock(const std::string& trace_path) {
  std::string path = trace_path + "/lock";
  // A record lock belongs to the process alone: forked guests do not hold it, and any death releases it.
  OwnedFd fd = open_file(path, O_RDWR | O_CREAT);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  // File systems without locks exist; there a running recording is shown as an unfinished one.
  if (fcntl(fd.get(), F_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES))
    user_error("{}: is being recorded by another process", trace_path);
  fd_ = fd.release();
}

RecorderLock::~RecorderLock() {
  if (fd_ >= 0) close(fd_);
}

// Not to be asked by the recorder about its own trace: closing any descriptor of the file lets go of its
// lock.
int RecorderLock::holder(const std::string& trace_path) {
  // Whoever made the trace may have put a pipe there, which is not waited for.
  OwnedFd fd(open((trace_path + "/lock").c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  if (fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid;
}

uint64_t directory_size(const std::string& path) {
  uint64_t total = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(path, error); it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (error) break;
    struct stat status;
    if (lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
      total += std::min<uint64_t>(static_cast<uint64_t>(status.st_size), // there may be holes
                                  static_cast<uint64_t>(status.st_blocks) * 512);
  }
  return total;
}

} // namespace rdb::trace
