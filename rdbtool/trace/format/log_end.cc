// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/log_end.h"

#include <fmt/format.h>

namespace rdb::trace {
namespace {

const char* words_for(LogClose close) {
  switch (close) {
  case LogClose::finished:
    return "the process ended";
  case LogClose::producer_died:
    return "the process was killed before it could log its end";
  case LogClose::disk_full:
    return "the log could not be written any further (disk full or quota)";
  case LogClose::stopped:
    return "the recording was stopped";
  case LogClose::damaged:
    return "the process handed over what is no record (its memory was damaged)";
  case LogClose::gave_up:
    return "rdb could not record the process any further";
  }
  return "closed for an unknown reason";
}

} // namespace

std::string LogEnd::describe() const {
  switch (kind) {
  case Kind::closed:
    return fmt::format("ends at time {}: {}", time.value, words_for(close));
  case Kind::cut:
    return fmt::format("cut off after time {}: {}, offset {}: {}", time.value, file, offset, reason);
  case Kind::damaged:
    break;
  }
  return fmt::format("damaged after time {}: {}, offset {}: {}", time.value, file, offset, reason);
}

} // namespace rdb::trace
