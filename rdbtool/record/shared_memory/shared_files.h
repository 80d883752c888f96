// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two recorded processes may map the same file shared, each by a call of its own. Changes made by one would
// reach the other without appearing in its log. The recorder's parent knows all processes: each tells it
// which files it has mapped, and if either of two may write, the recording of the second one stops.
#pragma once

#include "rdbtool/guest/process/process.h"
#include "rdbtool/record/shared_memory/shared_pages.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <vector>

namespace rdb::record {

class SharedFiles {
public:
  // Tells what is mapped now, if it has changed. Throws Limit.
  void tell(const guest::AddressSpace& space, const SharedPages& pages, trace::LogProducer& log);
  // The process ends.
  void tell_none(trace::LogProducer& log);
  bool any() const { return !told_.empty(); }
  // In a forked child, which has told nothing yet.
  void forget() { told_.clear(); }

private:
  std::vector<trace::SharedFile> told_;
};

} // namespace rdb::record
