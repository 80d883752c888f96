// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The consumer's end of the socket beside a ring: requests with their descriptors in, replies out.
#pragma once

#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/ring/ring.h"

#include <string>
#include <utility>

namespace rdb::trace {

struct ControlRequest {
  ControlKind kind = ControlKind::doorbell;
  OwnedFd fd; // kStoreFile
  uint64_t time = 0;
  std::string text;
};

enum class ReceiveResult { request, nothing, closed, malformed };

// The consumer's end, which never blocks, and the producer's. Throws std::system_error.
std::pair<OwnedFd, OwnedFd> control_pair();

ReceiveResult receive_request(int control, ControlRequest& request);

// With the two descriptors if there are any. A producer that is gone, or does not listen, gets none.
void send_reply(int control, const ControlReply& reply, ProducerEnds ends);

} // namespace rdb::trace
