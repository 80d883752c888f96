// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recording as the tests of the rings need it: forked producers on one side, a pumped consumer on the
// other.
#pragma once

#include "rdbtool/trace/ring/log_consumer.h"
#include "rdbtool/trace/trace_writer.h"

#include <functional>
#include <sys/types.h>

namespace rdb::trace {

// What runs in the child; its result is the exit status.
using ProducerBody = std::function<int(LogProducer&)>;

// Forks a child that is attached to a ring of its own and runs `body`.
pid_t start_producer(LogConsumer& consumer, const ProducerBody& body);

// Waits for work and does it, once.
void pump_once(LogConsumer& consumer);
// Until every producer is gone.
void pump_until_idle(LogConsumer& consumer);

// The exit status, or 128 + the signal.
int status_of(pid_t child);

// Appends the start of a process with this pid.
bool append_start(LogProducer& producer, int32_t pid = 1000);
// Appends `count` system calls whose numbers count up from `first`, at times 10 apart, each with a few bytes.
bool append_calls(LogProducer& producer, uint32_t first, uint32_t count);

} // namespace rdb::trace
