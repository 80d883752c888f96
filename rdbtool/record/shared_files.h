// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two recorded processes may map the same file shared, each by a call of its own. What one of them writes,
// the other one would find without a word of it in its log. The recorder's parent knows all processes: each
// tells it which files it has mapped, and the one that comes second, where one of both may write, is recorded
// no further.
#pragma once

#include "rdbtool/guest/process.h"
#include "rdbtool/record/shared_pages.h"
#include "rdbtool/trace/log_producer.h"

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
