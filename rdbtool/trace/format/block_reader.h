// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a log file block by block, each checked before it is handed out. Headers can be hopped through
// without reading payloads: that list is the index by which a time is found.
#pragma once

#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/format/block_format.h"
#include "rdbtool/trace/format/byte_io.h"
#include "rdbtool/trace/format/log_end.h"

#include <memory>
#include <vector>

struct ZSTD_DCtx_s;

namespace rdb::trace {

// Where a block lies; enough to find it by time and to check that it follows the one before.
struct BlockRef {
  uint64_t offset = 0;
  uint64_t first_time = 0;
  uint64_t last_time = 0;
  uint64_t first_record = 0;
  uint32_t record_count = 0;
};

// Blocks that are not in the file: from `begin` on, these are in the place of what it holds.
struct LogTail {
  uint64_t begin = 0;
  std::vector<uint8_t> bytes;
  // If there were more, but they could not be made: how the log ends then. Else its `file` is empty.
  LogEnd end = {};
};

class BlockReader {
public:
  // Throws UserError only if the file cannot be opened; anything wrong inside is an end().
  // `tail` may be null.
  BlockReader(std::string path, LogKind kind, std::string_view trace_id, std::shared_ptr<const LogTail> tail);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Loads the next block of records. False at the end of the log.
  bool next();
  // Of the block loaded.
  const BlockHeader& header() const { return header_; }
  std::span<const uint8_t> records() const { return records_; }
  std::span<const uint8_t> hashes() const { return hashes_; }
  uint64_t offset() const { return offset_; } // of the block in the file

  // Makes next() load this block of index().
  void go_to(size_t block);
  // All blocks whose headers are sound, found by hopping from one to the next.
  const std::vector<BlockRef>& index();

  // The block loaded ends inside an input: is the rest of it there, unharmed? If not, this is where the log
  // ends.
  bool rest_of_input_is_sound();

  const LogEnd& end() const { return end_; }
  // The log ends here: something inside the payload loaded is wrong.
  void end_damaged(std::string reason);
  // `time` of the last record handed out goes into the end, unless its writer has said when that was.
  void set_end_time(Time time) {
    if (end_.kind != LogEnd::Kind::closed) end_.time = time;
  }

private:
  struct Expectation {
    uint64_t offset = sizeof(LogFileHeader);
    uint64_t sequence = 0;
    uint64_t first_record = 0;
    uint64_t last_time = 0;
  };
  enum class Found { block, end };
  Found read_header(const Expectation& expect, BlockHeader& header, LogEnd& end);
  bool read_stored(uint64_t offset, const BlockHeader& header, std::vector<uint8_t>& stored, LogEnd& end);
  static Expectation after(const Expectation& expect, const BlockHeader& header);
  size_t read(void* data, size_t size, uint64_t offset) const;
  LogEnd cut(uint64_t offset, std::string reason) const;
  LogEnd damaged(uint64_t offset, std::string reason) const;

  std::string path_;
  OwnedFd fd_;
  std::shared_ptr<const LogTail> tail_;
  uint64_t seed_ = 0;
  bool is_log_ = false; // the file header is sound
  bool ended_ = false;
  LogEnd end_;
  Expectation expect_;
  BlockHeader header_ = {};
  uint64_t offset_ = 0;
  std::vector<uint8_t> stored_;
  std::vector<uint8_t> raw_;
  std::vector<uint8_t> ahead_;
  std::span<const uint8_t> records_;
  std::span<const uint8_t> hashes_;
  bool indexed_ = false;
  std::vector<BlockRef> index_;
  ZSTD_DCtx_s* context_ = nullptr;
};

} // namespace rdb::trace
