// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/debug_output.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/debug_session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <span>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace rdb::debug {
namespace {

constexpr off_t kKeptOutput = 1 << 20;

// False if it cannot be written; errno says why.
bool write_fully(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, bytes, size);
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

} // namespace

DebugOutput::DebugOutput(const Options& options) : prefix_(options.prefix) {
  int target = -1;
  if (!options.file.empty()) {
    target = open(options.file.c_str(),
                  O_WRONLY | O_CREAT | O_CLOEXEC | (options.append ? O_APPEND : O_TRUNC), 0666);
    if (target < 0) user_error("{}: {}", options.file, std::strerror(errno));
  }
  bool capture = options.prefix || options.count_lines;
  std::fflush(stdout);
  std::span<char> buffer = DebugSession::stdout_buffer();
  std::setvbuf(stdout, buffer.data(), isatty(1) && !capture ? _IOLBF : _IOFBF, buffer.size());
  if (target < 0 && !capture) return;
  // The replayed program's own output keeps going to the terminal.
  terminal_ = target >= 0 ? target : fcntl(1, F_DUPFD_CLOEXEC, 100);
  if (terminal_ < 0) terminal_ = fcntl(1, F_DUPFD_CLOEXEC, 3); // the limit of descriptors is low
  if (capture) {
    captured_ = memfd_create("rdb-output", MFD_CLOEXEC);
    dup2(captured_, 1);
  } else {
    dup2(target, 1);
  }
}

void DebugOutput::flush() {
  for (FILE* file : {stdout, stderr})
    if (may_be_pending(file) && __fpending(file) != 0 && std::fflush(file) != 0) lost_ = errno;
}

void DebugOutput::put(std::string_view bytes) {
  while (!bytes.empty()) {
    if (waiting_size_ == sizeof waiting_) write_out();
    size_t size = bytes.copy(waiting_ + waiting_size_, sizeof waiting_ - waiting_size_);
    waiting_size_ += size;
    bytes.remove_prefix(size);
  }
}

void DebugOutput::put_prefix(const replay::Replayer& replayer, std::string_view place) {
  char text[64];
  int thread = replayer.thread().value;
  int process = replayer.identity().pid; // its first thread has the same number
  bool other = thread != process && replayer.trace().processes().size() > 1;
  auto end = other ? fmt::format_to_n(text, sizeof text, "[{} {}/{} ", replayer.now().value, process, thread)
                   : fmt::format_to_n(text, sizeof text, "[{} {} ", replayer.now().value, thread);
  put({text, std::min(end.size, sizeof text)});
  put(place);
  put("] ");
}

void DebugOutput::hold(std::string& to) {
  RDB_CHECK(held_ == nullptr);
  std::fflush(stdout);
  held_ = &to;
  if (captured_ >= 0) return;
  before_hold_ = fcntl(1, F_DUPFD_CLOEXEC, 3);
  captured_ = memfd_create("rdb-output", MFD_CLOEXEC);
  if (before_hold_ < 0 || captured_ < 0 || dup2(captured_, 1) < 0)
    user_error("debug output cannot be held back: {}", std::strerror(errno));
}

void DebugOutput::end_hold() {
  held_ = nullptr;
  if (before_hold_ < 0) return;
  std::fflush(stdout);
  dup2(before_hold_, 1);
  close(std::exchange(before_hold_, -1));
  close(std::exchange(captured_, -1));
}

void DebugOutput::show(std::string_view text) {
  std::fflush(stdout);
  if (!write_fully(terminal_ >= 0 && captured_ >= 0 ? terminal_ : 1, text.data(), text.size())) lost_ = errno;
}

void DebugOutput::write_out() {
  if (held_ != nullptr) {
    held_->append(waiting_, waiting_size_);
    waiting_size_ = 0;
    return;
  }
  if (!write_fully(terminal_, waiting_, waiting_size_)) lost_ = errno;
  waiting_size_ = 0;
}

void DebugOutput::show_lines(const replay::Replayer& replayer, RegionCount& count) {
  std::fflush(stdout);
  off_t size = lseek(captured_, 0, SEEK_CUR);
  if (size <= 0) return;
  bool in_line = false;
  ssize_t n;
  for (off_t at = 0; at < size && (n = pread(captured_, read_, sizeof read_, at)) > 0; at += n) {
    std::string_view left(read_, static_cast<size_t>(std::min<off_t>(n, size - at)));
    while (!left.empty()) {
      if (!in_line) {
        ++count.lines;
        if (prefix_) put_prefix(replayer, count.place);
      }
      std::string_view line = left.substr(0, std::min(left.find('\n'), left.size() - 1) + 1);
      put(line);
      in_line = line.back() != '\n';
      left.remove_prefix(line.size());
    }
  }
  if (prefix_ && in_line) put("\n");
  write_out();
  // The file's pages are kept for the next time, unless they are many.
  if ((size > kKeptOutput && ftruncate(captured_, 0) != 0) || lseek(captured_, 0, SEEK_SET) != 0)
    bug("cannot empty the output buffer");
}

} // namespace rdb::debug
