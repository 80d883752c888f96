// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/log_end.h"

#include <fmt/format.h>

namespace rdb::trace {
namespace {

const char* words_for(LogClose close) {
  switch (close) {
  case LogClose::kFinished:
    return "the process ended";
  case LogClose::kProducerDied:
    return "the process was killed before it could log its end";
  case LogClose::kDiskFull:
    return "the log could not be written any further (disk full or quota)";
  case LogClose::kStopped:
    return "the recording was stopped";
  case LogClose::kDamaged:
    return "the process handed over what is no record (its memory was damaged)";
  case LogClose::kGaveUp:
    return "rdb could not record the process any further";
  }
  return "closed for an unknown reason";
}

} // namespace

std::string LogEnd::describe() const {
  switch (kind) {
  case Kind::kClosed:
    return fmt::format("ends at time {}: {}", time.value, words_for(close));
  case Kind::kCut:
    return fmt::format("cut off after time {}: {}, offset {}: {}", time.value, file, offset, reason);
  case Kind::kDamaged:
    break;
  }
  return fmt::format("damaged after time {}: {}, offset {}: {}", time.value, file, offset, reason);
}

} // namespace rdb::trace
