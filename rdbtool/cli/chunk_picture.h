// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A picture of who ran when: one lane for each thread, its turns as bars, hand-overs between the lanes, and
// system calls and signals as marks on them. As SVG, so that a browser shows what is under the pointer.
#pragma once

#include "rdbtool/trace/trace_reader.h"

#include <string>

namespace rdb::cli {

struct PictureRange {
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;
};

// The whole text of the file. Without a range of its own, the picture shows the part of the run from shortly
// before the second thread begins until the last of the others has ended.
std::string chunk_picture(const trace::TraceReader& trace, const trace::ProcessInfo& process,
                          const PictureRange& range);

} // namespace rdb::cli
