// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collects the records of one process into blocks. The chunk log is always written before the input log, so
// that after a cut the inputs that are there have their schedule, or belong to the one turn that was not
// over.
#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/trace/process_writer_state.h"

namespace rdb::trace {
namespace {

size_t data_size(const Input& input) {
  size_t size = 0;
  for (const MemoryWrite& write : input.writes)
    size += write.size + 20;
  if (auto* start = std::get_if<StartInput>(&input.payload)) size += start->program.size();
  if (auto* map = std::get_if<MapInput>(&input.payload)) size += map->path.size();
  if (auto* output = std::get_if<OutputInput>(&input.payload)) size += output->bytes.size();
  return size;
}

// Larger than any record's fixed part, so that a block that has not reached its target has room for one more.
constexpr size_t kRecordSlack = 4096;
static_assert(kBlockTarget + kMaxRecordData + kRecordSlack <= kMaxBlock);

} // namespace

ProcessWriter::ProcessWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessWriter::~ProcessWriter() = default;

void ProcessWriter::append(const Input& input) {
  State& s = *state_;
  LogState& log = s.inputs;
  if (!s.started && input.kind() != InputKind::start)
    bug("the first record of process {} is no start", s.name);
  if (static_cast<uint8_t>(input.kind()) == 0 || input.at.time < s.last_time)
    bug("process {}: {} at time {} after time {}", s.name, name_of(input.kind()), input.at.time.value,
        s.last_time.value);
  if (data_size(input) > kMaxRecordData) bug("process {}: a record of {} bytes", s.name, data_size(input));

  bool same_time = s.started && input.at.time == s.last_input_time;
  if (!s.inside_input) s.ordinal = same_time ? s.ordinal + 1 : 0;
  if (log.sink.bytes.size() == 0) {
    log.header = {};
    log.header.first_time = input.at.time.value;
    log.header.first_ordinal = s.ordinal;
    if (s.inside_input) log.header.flags |= kBlockBeginsInside;
    log.codec = {.time = input.at.time};
  }
  encode(input, log.codec, log.sink);
  log.header.last_time = input.at.time.value;
  log.header.chunks = s.chunk_count;
  ++log.header.record_count;
  if (!input.more) log.header.flags |= kBlockClosesInput;

  if (!s.started) s.chunk_time = input.at.time;
  s.started = true;
  s.inside_input = input.more;
  s.last_input_time = s.last_time = input.at.time;
  if (log.size() >= kBlockTarget) flush();
}

void ProcessWriter::append(const Chunk& chunk) {
  State& s = *state_;
  LogState& log = s.chunks;
  if (!s.started) bug("the first record of process {} is no start", s.name);
  if (chunk.instructions > UINT64_MAX - s.chunk_time.value ||
      s.chunk_time + chunk.instructions < s.last_input_time)
    bug("process {}: a turn of {} instructions from time {}, but an input at {}", s.name, chunk.instructions,
        s.chunk_time.value, s.last_input_time.value);
  if (log.sink.bytes.size() == 0) {
    log.header = {};
    log.header.first_time = s.chunk_time.value;
    log.codec = {.time = s.chunk_time};
  }
  encode(chunk, log.codec, log.sink);
  s.chunk_time += chunk.instructions;
  ++s.chunk_count;
  log.header.last_time = s.chunk_time.value;
  ++log.header.record_count;
  if (s.last_time < s.chunk_time) s.last_time = s.chunk_time;
  if (log.size() >= kBlockTarget) flush();
}

void ProcessWriter::flush() {
  for (LogState* log : {&state_->chunks, &state_->inputs}) {
    const ByteSink& bytes = log->sink.bytes;
    const ByteSink& hashes = log->sink.hashes;
    if (bytes.size() == 0) continue;
    log_line(Topic::trace, "writes a block of {} bytes up to time {}", bytes.size(), state_->last_time.value);
    log->file.write(log->header, {bytes.data(), bytes.size()}, {hashes.data(), hashes.size()});
    log->clear();
  }
  state_->written = state_->last_time;
}

void ProcessWriter::close(LogClose how) {
  if (state_->closed) return;
  flush();
  abandon(how);
}

void ProcessWriter::abandon(LogClose how) {
  State& s = *state_;
  if (s.closed) return;
  s.closed = true;
  for (LogState* log : {&s.chunks, &s.inputs}) {
    log->release();
    BlockHeader last = {};
    last.flags = kBlockLast;
    last.first_time = last.last_time = s.written.value;
    last.chunks = s.chunk_count;
    last.close = static_cast<uint32_t>(how);
    log->file.write(last, {}, {});
  }
}

void ProcessWriter::release_buffers() {
  for (LogState* log : {&state_->chunks, &state_->inputs})
    if (log->size() == 0) log->release();
}

RingSettled ProcessWriter::settled() const {
  const State& s = *state_;
  RDB_CHECK(buffered() == 0);
  RingSettled settled;
  settled.inputs = s.inputs.file.state();
  settled.chunks = s.chunks.file.state();
  settled.last_time = s.last_time.value;
  settled.last_input_time = s.last_input_time.value;
  settled.chunk_time = s.chunk_time.value;
  settled.chunk_count = s.chunk_count;
  settled.ordinal = s.ordinal;
  settled.started = s.started;
  settled.inside_input = s.inside_input;
  return settled;
}

size_t ProcessWriter::buffered() const {
  return state_->inputs.size() + state_->chunks.size();
}
size_t ProcessWriter::memory() const {
  return state_->inputs.capacity() + state_->chunks.capacity();
}
Time ProcessWriter::last_time() const {
  return state_->last_time;
}
const std::string& ProcessWriter::name() const {
  return state_->name;
}
uint64_t ProcessWriter::size() const {
  return state_->inputs.file.size() + state_->chunks.file.size();
}

} // namespace rdb::trace
