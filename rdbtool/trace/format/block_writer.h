// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Appends blocks to a log file. The file is open only while a block is being written, so a recording of
// hundreds of processes needs few descriptors; when a write fails the file is cut back to its last whole
// block.
#pragma once

#include "rdbtool/trace/format/block_format.h"
#include "rdbtool/trace/ring/ring.h"

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

struct ZSTD_CCtx_s;

namespace rdb::trace {

// What a block is compressed by. Both give the same format.
enum class Method : uint8_t {
  repetitions, // of strings, and the frequency of bytes
  frequencies, // of bytes almost alone: a third of the time
};

// Shared by all logs of a trace: a compression context takes a megabyte.
class Compressor {
public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;
  // The compressed bytes, valid until the next call, or an empty span if they would not be fewer.
  std::span<const uint8_t> compress(std::span<const uint8_t> raw, Method method = Method::repetitions);

private:
  ZSTD_CCtx_s* context_;
  Method set_ = Method::repetitions; // in the context
  std::vector<uint8_t> out_;
};

// Chooses the method for the blocks of one log. Where strings hardly repeat (numbers, data that is compressed
// already), searching for them is most of the work and wins little: some blocks are tried with both methods,
// and the next ones take the one that was worth its time.
class MethodChoice {
public:
  std::span<const uint8_t> compress(Compressor& compressor, std::span<const uint8_t> raw);

private:
  Method method_ = Method::repetitions;
  unsigned left_ = 0; // blocks until both are tried again
};

class BlockWriter {
public:
  // Makes the file and writes its header. Throws std::system_error.
  BlockWriter(std::string path, LogKind kind, std::string_view trace_id, Compressor& compressor);

  // Goes on where a file ends, and keeps what comes after that in memory, for take_memory().
  BlockWriter(std::string path, LogKind kind, std::string_view trace_id, Compressor& compressor,
              const LogFileState& end);

  // Fills in sizes, hashes, sequence and first_record of `header`, compresses `records` and writes all of it.
  // Throws std::system_error; the file then ends with the block before.
  void write(BlockHeader header, std::span<const uint8_t> records, std::span<const uint8_t> hashes);

  uint64_t size() const { return size_; } // of the file
  LogFileState state() const { return {size_, sequence_, records_}; }
  std::vector<uint8_t> take_memory() { return std::move(memory_); }
  uint64_t records() const { return records_; }
  const std::string& path() const { return path_; }

private:
  void append(std::initializer_list<std::span<const uint8_t>> parts);

  std::string path_;
  Compressor& compressor_;
  MethodChoice method_;
  uint64_t seed_ = 0;
  uint64_t size_ = 0;
  uint64_t sequence_ = 0;
  uint64_t records_ = 0;
  bool to_memory_ = false;
  std::vector<uint8_t> memory_;
};

} // namespace rdb::trace
