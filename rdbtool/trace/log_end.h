// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a log ends: closed by its writer in one of several ways, cut off, or damaged.
#pragma once

#include "rdbtool/base/types.h"

#include <string>

namespace rdb::trace {

// How a writer closed a log; kept in its last block.
enum class LogClose : uint32_t {
  kFinished = 1,     // the process logged its exit
  kProducerDied = 2, // it was killed before it could
  kDiskFull = 3,
  kStopped = 4, // the recording was ended before the process
  kDamaged = 5, // the process handed over what is no record
  kGaveUp = 6,  // rdb could not record the process any further
};

// Why a reader has no more.
struct LogEnd {
  enum class Kind : uint8_t {
    kClosed,  // the writer closed the log: see `close`
    kCut,     // the file ends without its last block: recorder killed, file truncated
    kDamaged, // bytes that do not fit
  };
  Kind kind = Kind::kCut;
  LogClose close = LogClose::kFinished; // kClosed
  Time time;                            // of the last record before the end
  std::string file;                     // path
  uint64_t offset = 0;                  // in the file
  std::string reason;                   // "the payload's checksum does not match" ...

  bool complete() const { return kind == Kind::kClosed && close == LogClose::kFinished; }
  // One line for people: what, where, at which time.
  std::string describe() const;
};

} // namespace rdb::trace
