// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's way into everything that reads bytes which others made: log files, with checksums made right so
// that the layers behind them are reached, frames from a ring, headers of tar files.
#include "rdbtool/trace/format/block_format.h"
#include "rdbtool/trace/format/tar.h"
#include "rdbtool/trace/ring/frame_decoder.h"
#include "rdbtool/trace/ring/ring.h"
#include "rdbtool/trace/trace_reader.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rdb::trace {
namespace {

const std::string kTraceId(32, 'a');

class Bytes {
public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint8_t u8() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::vector<uint8_t> take(size_t size) {
    size = size < size_ ? size : size_;
    std::vector<uint8_t> bytes(data_, data_ + size);
    data_ += size;
    size_ -= size;
    return bytes;
  }
  std::vector<uint8_t> rest() { return take(size_); }

private:
  const uint8_t* data_;
  size_t size_;
};

void append(std::string& file, const void* data, size_t size) {
  file.append(static_cast<const char*>(data), size);
}

// A log whose headers and checksums are right and whose records are the fuzzer's.
std::string plausible_log(LogKind kind, Bytes& in) {
  std::string file;
  LogFileHeader header = make_log_file_header(kind, kTraceId);
  append(file, &header, sizeof header);
  uint64_t sequence = 0, records = 0, time = 0;
  while (!in.empty()) {
    BlockHeader block = {};
    block.magic = kBlockMagic;
    block.flags = kBlockRaw | (in.u8() & kBlockAllFlags & ~uint32_t{kBlockLast});
    if (in.u8() == 0) block.flags &= ~uint32_t{kBlockRaw}; // the fuzzer may know zstd
    block.sequence = sequence++;
    block.first_time = time;
    time += in.u8();
    block.last_time = time;
    block.first_record = records;
    block.record_count = in.u8();
    block.first_ordinal = in.u8();
    block.chunks = in.u8();
    std::vector<uint8_t> hashes = in.take(in.u8());
    std::vector<uint8_t> payload = in.take(in.u8() * size_t{8});
    records += block.record_count;
    block.raw_size = static_cast<uint32_t>(payload.size());
    block.hashes_size = static_cast<uint32_t>(hashes.size());
    payload.insert(payload.end(), hashes.begin(), hashes.end());
    block.stored_size = static_cast<uint32_t>(payload.size());
    block.payload_hash = xxh64(payload.data(), payload.size(), header.hash);
    block.header_hash = hash_of(block, header.hash);
    append(file, &block, sizeof block);
    append(file, payload.data(), payload.size());
  }
  return file;
}

// The readers take paths, of regular files.
class LogFile {
public:
  LogFile() : fd_(mkstemp(path_)) {
    if (fd_ < 0) abort();
  }
  ~LogFile() { unlink(path_); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  std::string path_with(const std::string& content) {
    if (ftruncate(fd_, 0) != 0 ||
        pwrite(fd_, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
      abort();
    return path_;
  }

private:
  char path_[32] = "/tmp/rdb-log-fuzz-XXXXXX";
  int fd_;
};

// Reads every byte that a reader hands out: a bad pointer must show.
uint64_t use(const Input& input) {
  uint64_t sum = input.at.time.value + input.at.ordinal;
  for (const MemoryWrite& write : input.writes)
    for (uint8_t byte : write.bytes())
      sum += byte;
  if (auto* map = std::get_if<MapInput>(&input.payload))
    for (char c : map->path)
      sum += static_cast<uint8_t>(c);
  if (auto* output = std::get_if<OutputInput>(&input.payload))
    for (uint8_t byte : output->bytes)
      sum += byte;
  return sum;
}

void read_logs(const std::string& inputs_file, const std::string& chunks_file, uint64_t seek) {
  static LogFile inputs_log, chunks_log;
  std::string inputs_path = inputs_log.path_with(inputs_file);
  std::string chunks_path = chunks_log.path_with(chunks_file);
  volatile uint64_t sum = 0;
  RunReader run(InputReader(inputs_path, kTraceId), ChunkReader(chunks_path, kTraceId));
  while (const Step* step = run.next())
    if (step->input != nullptr) sum = sum + use(*step->input);
  if (run.end().describe().empty()) abort();
  InputReader inputs(inputs_path, kTraceId);
  inputs.seek(Time(seek));
  Time last;
  while (const Input* input = inputs.next()) {
    if (input->at.time < last) abort();
    last = input->at.time;
    sum = sum + use(*input);
  }
  ChunkReader chunks(chunks_path, kTraceId);
  chunks.seek(Time(seek));
  while (chunks.next() != nullptr) {
  }
}

} // namespace
} // namespace rdb::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rdb::trace;
  Bytes in(data, size);
  switch (in.u8() % 5) {
  case 0: { // the bytes are a file
    std::vector<uint8_t> bytes = in.rest();
    std::string file(bytes.begin(), bytes.end());
    read_logs(file, file, 1);
    break;
  }
  case 1: { // a sound file header, then anything
    std::vector<uint8_t> bytes = in.rest();
    Bytes none(nullptr, 0);
    std::string inputs = plausible_log(LogKind::inputs, none);
    append(inputs, bytes.data(), bytes.size());
    read_logs(inputs, inputs, 7);
    break;
  }
  case 2: {
    size_t half = size / 2;
    std::vector<uint8_t> first = in.take(half);
    Bytes one(first.data(), first.size());
    std::string inputs = plausible_log(LogKind::inputs, one);
    read_logs(inputs, plausible_log(LogKind::chunks, in), data[size / 2]);
    break;
  }
  case 3: {
    std::vector<uint8_t> bytes = in.rest();
    DecodedFrame frame;
    std::span<uint8_t> left = bytes;
    volatile uint64_t sum = 0;
    for (;;) {
      // With a checksum that is right.
      RingFrame head = {};
      if (left.size() >= sizeof head) {
        std::memcpy(&head, left.data(), sizeof head);
        if (head.words > 0 && head.size() <= left.size())
          head.check = frame_check(left.data(), head.words, bytes.size() - left.size());
        std::memcpy(left.data(), &head.check, sizeof head.check);
      }
      if (!decode_frame(left, bytes.size() - left.size(), frame)) break;
      if (!frame.is_chunk) sum = sum + use(frame.input);
      left = left.subspan(frame.size);
    }
    break;
  }
  default: {
    uint8_t block[kTarBlock] = {};
    std::vector<uint8_t> bytes = in.take(sizeof block);
    if (!bytes.empty()) std::memcpy(block, bytes.data(), bytes.size());
    TarEntry entry;
    read_tar_header(block, entry);
    break;
  }
  }
  return 0;
}
