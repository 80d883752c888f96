// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The records of the two logs, one at a time. An input that goes on in further records is handed out only if
// all of them are there: when its head comes up, the records after it are looked through first.
#include "rdbtool/trace/log_reader.h"
#include "rdbtool/trace/format/block_reader.h"
#include "rdbtool/trace/log_reader_state.h"

#include <algorithm>

namespace rdb::trace {

void LogPlace::begin_block() {
  source = {ByteSource(blocks.records()), ByteSource(blocks.hashes())};
  codec = {.time = Time(blocks.header().first_time)};
  left = blocks.header().record_count;
  in_order = true;
}

bool LogPlace::damaged(const char* reason) {
  blocks.end_damaged(reason);
  return false;
}

bool LogReader<Input>::State::load() {
  if (!blocks.next()) return false;
  bool begins_inside = (blocks.header().flags & kBlockBeginsInside) != 0;
  if (in_order && begins_inside != inside) return damaged("the block does not continue the one before");
  inside = begins_inside;
  first_in_block = true;
  begin_block();
  return true;
}

// Decodes the next record of the block; the log ends if it is none.
bool LogReader<Input>::State::decode_one() {
  const BlockHeader& header = blocks.header();
  const char* wrong = nullptr;
  Time before = record.at.time;
  if (!decode(source, codec, record, writes))
    wrong = "a record cannot be decoded";
  else if (record.at.time.value > header.last_time || (left == 1 && record.at.time.value != header.last_time))
    wrong = "a record's time contradicts the block header";
  else if (left == 1 && !(source.bytes.empty() && source.hashes.empty()))
    wrong = "the block holds more than its records";
  else if (header.first_record == 0 && first_in_block && record.kind() != InputKind::start)
    wrong = "the log does not begin with a start record";
  else if (inside && (record.thread != input_thread || record.at.time != before) && !first_in_block)
    wrong = "an input goes on in another thread or time";
  else if (inside && record.kind() != InputKind::memory && record.kind() != InputKind::output)
    wrong = "an input goes on in a record of another kind";
  if (wrong != nullptr) return damaged(wrong);
  record.continued = inside;
  if (first_in_block)
    ordinal = header.first_ordinal;
  else if (!inside)
    ordinal = record.at.time == before ? ordinal + 1 : 0;
  record.at.ordinal = ordinal;
  inside = record.more;
  input_thread = record.thread;
  first_in_block = false;
  --left;
  return !record.more || record.continued || rest_is_there();
}

// The head of an input that goes on has been decoded: is everything else of it there?
bool LogReader<Input>::State::rest_is_there() {
  RecordSource ahead = source;
  CodecState ahead_codec = codec;
  Input ahead_record;
  std::vector<MemoryWrite> ahead_writes;
  for (uint32_t i = 0; i < left; ++i) {
    if (!decode(ahead, ahead_codec, ahead_record, ahead_writes)) return damaged("a record cannot be decoded");
    if (!ahead_record.more) return true;
  }
  return blocks.rest_of_input_is_sound();
}

bool LogReader<TimedChunk>::State::load() {
  if (!blocks.next()) return false;
  if (in_order && blocks.header().first_time != codec.time.value)
    return damaged("the block does not continue the one before");
  begin_block();
  return true;
}

bool LogReader<TimedChunk>::State::decode_one() {
  record.begin = codec.time;
  if (!decode(source, codec, record.chunk)) return damaged("a record cannot be decoded");
  bool all_read = source.bytes.empty() && source.hashes.empty();
  if (left == 1 && (!all_read || codec.time.value != blocks.header().last_time))
    return damaged("the block holds something else than its header says");
  --left;
  return true;
}

template <class Record>
LogReader<Record>::LogReader(const std::string& path, const std::string& trace_id,
                             std::shared_ptr<const LogTail> tail)
    : state_(std::make_unique<State>(path, trace_id, std::move(tail))) {}
template <class Record>
LogReader<Record>::LogReader(LogReader&&) noexcept = default;
template <class Record>
LogReader<Record>& LogReader<Record>::operator=(LogReader&&) noexcept = default;
template <class Record>
LogReader<Record>::~LogReader() = default;

template <class Record>
const Record* LogReader<Record>::peek() {
  State& s = *state_;
  if (s.have || s.ended) return s.have ? &s.record : nullptr;
  if (!(s.left != 0 || s.load()) || !s.decode_one()) {
    s.blocks.set_end_time(s.last_time);
    s.ended = true;
    return nullptr;
  }
  s.have = true;
  return &s.record;
}

template <class Record>
const Record* LogReader<Record>::next() {
  const Record* record = peek();
  if (record != nullptr) {
    state_->have = false;
    state_->last_time = state_->record_time();
    ++state_->taken;
  }
  return record;
}

template <class Record>
void LogReader<Record>::seek(Time time) {
  State& s = *state_;
  const std::vector<BlockRef>& index = s.blocks.index();
  auto block = std::partition_point(index.begin(), index.end(),
                                    [&](const BlockRef& ref) { return ref.last_time < time.value; });
  if (block == index.end()) {
    // Nothing that late: the end is found, and described, by reading the last block there is.
    if (index.empty()) return;
    --block;
  }
  s.blocks.go_to(static_cast<size_t>(block - index.begin()));
  s.last_time = Time(block == index.begin() ? 0 : std::prev(block)->last_time);
  s.taken = block->first_record;
  s.left = 0;
  s.have = s.ended = s.in_order = false;
  while (peek() != nullptr && !s.begins_at(time))
    next();
}

template <class Record>
const LogEnd& LogReader<Record>::end() const {
  return state_->blocks.end();
}

template <class Record>
Time LogReader<Record>::last_time() {
  const std::vector<BlockRef>& index = state_->blocks.index();
  return Time(index.empty() ? 0 : index.back().last_time);
}

template <class Record>
uint64_t LogReader<Record>::count() {
  const std::vector<BlockRef>& index = state_->blocks.index();
  return index.empty() ? 0 : index.back().first_record + index.back().record_count;
}

template class LogReader<Input>;
template class LogReader<TimedChunk>;

} // namespace rdb::trace
