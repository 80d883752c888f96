// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns frames of a ring back into inputs. The ring lies in the address space of the recorded program, which
// may write anywhere: every number is copied out once and checked, so that a wild write ends that process's
// log and nothing else.
#pragma once

#include "rdbtool/trace/format/input.h"

#include <span>
#include <vector>

namespace rdb::trace {

struct DecodedFrame {
  size_t size = 0; // in the ring
  bool is_chunk = false;
  Chunk chunk;
  Input input;
  std::vector<MemoryWrite> writes; // behind input.writes
};

// Which checksums are looked at. A live process damages its ring only by a wild write, and most of a long
// frame is data that is nothing but copied: there the check would cost as much as the copy.
enum class CheckOf : uint8_t { every_frame, short_frames };

// Decodes the frame at the start of `available`, whose bytes stay there. `position`: of it among all bytes
// ever written to the ring. False if it is none.
bool decode_frame(std::span<const uint8_t> available, uint64_t position, DecodedFrame& out,
                  CheckOf check = CheckOf::every_frame);

} // namespace rdb::trace
