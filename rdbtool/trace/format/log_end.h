// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a log ends: closed by its writer in one of several ways, cut off, or damaged.
#pragma once

#include "rdbtool/base/types.h"

#include <string>

namespace rdb::trace {

// How a writer closed a log; kept in its last block.
enum class LogClose : uint32_t {
  finished = 1,      // the process logged its exit
  producer_died = 2, // it was killed before it could
  disk_full = 3,
  stopped = 4, // the recording was ended before the process
  damaged = 5, // the process handed over what is no record
  gave_up = 6, // rdb could not record the process any further
};

// Why a reader has no more.
struct LogEnd {
  enum class Kind : uint8_t {
    closed,  // the writer closed the log: see `close`
    cut,     // the file ends without its last block: recorder killed, file truncated
    damaged, // bytes that do not fit
  };
  Kind kind = Kind::cut;
  LogClose close = LogClose::finished; // kClosed
  Time time;                           // of the last record before the end; kClosed: of the last of both logs
  std::string file;                    // path
  uint64_t offset = 0;                 // in the file
  std::string reason;                  // "the payload's checksum does not match" ...

  bool complete() const { return kind == Kind::closed && close == LogClose::finished; }
  bool is_disk_full() const { return kind == Kind::closed && close == LogClose::disk_full; }
  // One line for people: what, where, at which time.
  std::string describe() const;
};

} // namespace rdb::trace
