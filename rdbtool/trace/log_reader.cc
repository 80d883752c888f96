// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The records of the two logs, one at a time. An input that goes on in further records is handed out only if
// all of them are there: when its head comes up, the records after it are looked through first.
#include "rdbtool/trace/block_reader.h"
#include "rdbtool/trace/log_reader_state.h"
#include "rdbtool/trace/reader.h"

#include <algorithm>

namespace rdb::trace {

InputReader::InputReader(const std::string& path, const std::string& trace_id)
    : state_(std::make_unique<State>(path, trace_id)) {}
InputReader::InputReader(InputReader&&) noexcept = default;
InputReader& InputReader::operator=(InputReader&&) noexcept = default;
InputReader::~InputReader() = default;

bool InputReader::State::load() {
  if (!blocks.next()) return false;
  const BlockHeader& header = blocks.header();
  bool begins_inside = (header.flags & kBlockBeginsInside) != 0;
  if (expect_continuation && begins_inside != inside) {
    blocks.end_damaged("the block does not continue the one before");
    return false;
  }
  inside = begins_inside;
  expect_continuation = true;
  source = {ByteSource(blocks.records()), ByteSource(blocks.hashes())};
  codec = {.time = Time(header.first_time)};
  left = header.record_count;
  first_in_block = true;
  return true;
}

// Decodes the next record of the block; the log ends if it is none.
bool InputReader::State::decode_one() {
  const BlockHeader& header = blocks.header();
  const char* wrong = nullptr;
  Time before = input.at.time;
  if (!decode(source, codec, input, writes))
    wrong = "a record cannot be decoded";
  else if (input.at.time.value > header.last_time || (left == 1 && input.at.time.value != header.last_time))
    wrong = "a record's time contradicts the block header";
  else if (left == 1 && !(source.bytes.empty() && source.hashes.empty()))
    wrong = "the block holds more than its records";
  else if (header.first_record == 0 && first_in_block && input.kind() != InputKind::kStart)
    wrong = "the log does not begin with a start record";
  else if (inside && (input.thread != input_thread || input.at.time != before) && !first_in_block)
    wrong = "an input goes on in another thread or time";
  else if (inside && input.kind() != InputKind::kMemory && input.kind() != InputKind::kOutput)
    wrong = "an input goes on in a record of another kind";
  if (wrong != nullptr) {
    blocks.end_damaged(wrong);
    return false;
  }
  input.continued = inside;
  if (first_in_block)
    ordinal = header.first_ordinal;
  else if (!inside)
    ordinal = input.at.time == before ? ordinal + 1 : 0;
  input.at.ordinal = ordinal;
  inside = input.more;
  input_thread = input.thread;
  first_in_block = false;
  --left;
  return true;
}

// The head of an input that goes on has been decoded: is everything else of it there?
bool InputReader::State::rest_is_there() {
  RecordSource ahead = source;
  CodecState ahead_codec = codec;
  Input record;
  std::vector<MemoryWrite> ahead_writes;
  for (uint32_t i = 0; i < left; ++i) {
    if (!decode(ahead, ahead_codec, record, ahead_writes)) {
      blocks.end_damaged("a record cannot be decoded");
      return false;
    }
    if (!record.more) return true;
  }
  return blocks.rest_of_input_is_sound();
}

const Input* InputReader::peek() {
  State& s = *state_;
  if (s.have || s.ended) return s.have ? &s.input : nullptr;
  bool fine = s.left != 0 || s.load();
  fine = fine && s.decode_one() && (!s.input.more || s.input.continued || s.rest_is_there());
  if (!fine) {
    s.blocks.set_end_time(s.last_time);
    s.ended = true;
    return nullptr;
  }
  s.have = true;
  return &s.input;
}

const Input* InputReader::next() {
  const Input* input = peek();
  if (input != nullptr) {
    state_->have = false;
    state_->last_time = input->at.time;
  }
  return input;
}

void InputReader::seek(Time time) {
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
  s.left = 0;
  s.have = s.ended = s.expect_continuation = false;
  while (const Input* input = peek()) {
    if (input->at.time >= time && !input->continued) break;
    next();
  }
}

const LogEnd& InputReader::end() const {
  return state_->blocks.end();
}

Time InputReader::last_time() {
  const std::vector<BlockRef>& index = state_->blocks.index();
  return Time(index.empty() ? 0 : index.back().last_time);
}

uint64_t InputReader::count() {
  const std::vector<BlockRef>& index = state_->blocks.index();
  return index.empty() ? 0 : index.back().first_record + index.back().record_count;
}

ChunkReader::ChunkReader(const std::string& path, const std::string& trace_id)
    : state_(std::make_unique<State>(path, trace_id)) {}
ChunkReader::ChunkReader(ChunkReader&&) noexcept = default;
ChunkReader& ChunkReader::operator=(ChunkReader&&) noexcept = default;
ChunkReader::~ChunkReader() = default;

bool ChunkReader::State::load() {
  if (!blocks.next()) return false;
  const BlockHeader& header = blocks.header();
  if (sequential && header.first_time != codec.time.value) {
    blocks.end_damaged("the block does not continue the one before");
    return false;
  }
  sequential = true;
  source = {ByteSource(blocks.records()), ByteSource(blocks.hashes())};
  codec = {.time = Time(header.first_time)};
  left = header.record_count;
  return true;
}

bool ChunkReader::State::decode_one() {
  chunk.begin = codec.time;
  const char* wrong = nullptr;
  if (!decode(source, codec, chunk.chunk))
    wrong = "a record cannot be decoded";
  else if (left == 1 && (!(source.bytes.empty() && source.hashes.empty()) ||
                         codec.time.value != blocks.header().last_time))
    wrong = "the block holds something else than its header says";
  if (wrong != nullptr) {
    blocks.end_damaged(wrong);
    return false;
  }
  --left;
  return true;
}

const TimedChunk* ChunkReader::peek() {
  State& s = *state_;
  if (s.have || s.ended) return s.have ? &s.chunk : nullptr;
  if (!(s.left != 0 || s.load()) || !s.decode_one()) {
    s.blocks.set_end_time(s.last_time);
    s.ended = true;
    return nullptr;
  }
  s.have = true;
  return &s.chunk;
}

const TimedChunk* ChunkReader::next() {
  const TimedChunk* chunk = peek();
  if (chunk != nullptr) {
    state_->have = false;
    state_->last_time = chunk->end();
    ++state_->taken;
  }
  return chunk;
}

void ChunkReader::seek(Time time) {
  State& s = *state_;
  const std::vector<BlockRef>& index = s.blocks.index();
  auto block = std::partition_point(index.begin(), index.end(),
                                    [&](const BlockRef& ref) { return ref.last_time < time.value; });
  if (block == index.end()) {
    if (index.empty()) return;
    --block;
  }
  s.blocks.go_to(static_cast<size_t>(block - index.begin()));
  s.last_time = Time(block->first_time);
  s.taken = block->first_record;
  s.left = 0;
  s.have = s.ended = s.sequential = false;
  while (const TimedChunk* chunk = peek()) {
    if (chunk->end() >= time) break;
    next();
  }
}

const LogEnd& ChunkReader::end() const {
  return state_->blocks.end();
}

Time ChunkReader::last_time() {
  const std::vector<BlockRef>& index = state_->blocks.index();
  return Time(index.empty() ? 0 : index.back().last_time);
}

uint64_t ChunkReader::count() {
  const std::vector<BlockRef>& index = state_->blocks.index();
  return index.empty() ? 0 : index.back().first_record + index.back().record_count;
}

} // namespace rdb::trace
