// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/hardware_watches.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/debug_session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

// A signal at each write by this thread, behind the instruction.
int open_breakpoint(uint64_t address, uint64_t size) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_W;
  attributes.bp_addr = address;
  attributes.bp_len = size;
  attributes.sample_period = 1;
  attributes.sigtrap = 1;
  attributes.remove_on_exec = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

} // namespace

HardwareWatches::HardwareWatches(DebugSession& session) : session_(session) {
  const char* word = std::getenv(kOff);
  refused_ = word != nullptr && std::strcmp(word, "0") == 0;
}

HardwareWatches::~HardwareWatches() {
  clear();
}

bool HardwareWatches::set(std::span<const WatchedRange> ranges) {
  clear();
  if (refused_) return false;
  for (const WatchedRange& range : ranges) {
    if (range.end - range.begin > kLargest) return false;
    // Each covers a power of two of bytes, aligned to that.
    for (uint64_t at = range.begin; at < range.end;) {
      uint64_t size = kLargest;
      while (at % size != 0 || at + size > range.end)
        size /= 2;
      auto same = [&](const Breakpoint& piece) { return piece.address == at && piece.size == size; };
      if (std::none_of(pieces_.begin(), pieces_.end(), same)) pieces_.push_back({at, size});
      at += size;
    }
  }
  if (pieces_.size() <= kMost && open_all()) {
    // What goes on after a fork does not inherit them.
    static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
    if (registered == 0) {
      session_.hardware_watches = this;
      return true;
    }
  }
  clear();
  return false;
}

bool HardwareWatches::open_all() {
  for (const Breakpoint& piece : pieces_) {
    int fd = open_breakpoint(piece.address, piece.size);
    if (fd < 0) return false;
    descriptors_.push_back(fd);
  }
  return true;
}

void HardwareWatches::close_all() {
  for (int fd : descriptors_)
    close(fd);
  descriptors_.clear();
}

void HardwareWatches::clear() {
  close_all();
  pieces_.clear();
  if (session_.hardware_watches == this) session_.hardware_watches = nullptr;
}

void HardwareWatches::after_fork() {
  const DebugSession* session = DebugSession::current();
  if (session == nullptr || session->hardware_watches == nullptr) return;
  session->hardware_watches->close_all();
  if (session->hardware_watches->open_all()) return;
  // They were granted to the process that this one is a copy of.
  print_error("rdb: not supported: hardware breakpoints that are granted at times only; "
              "set {}=0 to do without them\n",
              kOff);
  _exit(kExitFailure);
}

} // namespace rdb::debug
