// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merges the turns and the inputs of a process. The logs of a complete recording fit; after a cut one of them
// may reach further, and this decides how much of it is still exact.
#include "rdbtool/trace/run_reader.h"

#include "rdbtool/trace/log_reader_state.h"

#include <algorithm>

namespace rdb::trace {

RunReader::RunReader(InputReader inputs, ChunkReader chunks)
    : inputs_(std::move(inputs)), chunks_(std::move(chunks)) {}

const Step* RunReader::step(ThreadId thread, Time until, const Input* input) {
  step_ = {thread, until, input};
  return &step_;
}

const Step* RunReader::finish(bool for_lack_of_chunks) {
  lacks_chunks_ = for_lack_of_chunks;
  return nullptr;
}

const Step* RunReader::next() {
  const Input* input = inputs_.peek();
  const TimedChunk* chunk = chunks_.peek();
  if (input != nullptr && chunk == nullptr) return without_chunk(*input);
  if (input == nullptr && chunk == nullptr) return finish(false);
  ThreadId running = chunk->chunk.thread;
  if (input != nullptr) {
    // An input at the very end of a turn may be the first of the next turn: the thread tells.
    bool in_turn =
        input->at.time < chunk->end() || (input->at.time == chunk->end() && input->thread == running);
    if (in_turn) return step(running, input->at.time, inputs_.next());
  } else if (inputs_.end().kind != LogEnd::Kind::closed) {
    // There were more inputs in this turn, or there were not: nobody knows.
    return finish(false);
  }
  Time end = chunk->end();
  chunks_.next();
  return step(running, end, nullptr);
}

void RunReader::take_calls(Time from, Time to, bool (*wanted)(const SyscallInput&),
                           std::vector<LoggedCall>& calls) {
  const TimedChunk* chunk = chunks_.peek();
  if (chunk == nullptr) return;
  constexpr size_t kMost = 512;
  to = std::min(to, chunk->end());
  while (calls.size() < kMost) {
    const Input* input = inputs_.peek();
    if (input == nullptr || input->kind() != InputKind::syscall) return;
    const auto& call = input->as<SyscallInput>();
    bool simple = input->thread == chunk->chunk.thread && !input->more && input->writes.size() <= 1;
    if (!simple || input->at.time <= from || input->at.time > to || !wanted(call)) return;
    // The bytes lie in the block: the step behind the calls must not need the next one.
    if (inputs_.state_->left == 0) return;
    from = input->at.time;
    calls.push_back({from, call, input->writes.empty() ? MemoryWrite{} : input->writes[0]});
    inputs_.next();
  }
}

// The turns have run out. What is left belongs to the turn that was not over when the log ended, unless the
// chunk log lost turns that were over: then who ran is known no further than they go.
const Step* RunReader::without_chunk(const Input& input) {
  uint64_t turns_over = inputs_.state_->blocks.header().chunks;
  const ChunkReader::State& chunks = *chunks_.state_;
  if (turns_over > chunks.taken && input.at.time > chunks.last_time) return finish(true);
  return step(input.thread, input.at.time, inputs_.next());
}

const LogEnd& RunReader::end() const {
  return lacks_chunks_ ? chunks_.end() : inputs_.end();
}

} // namespace rdb::trace
