// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/block_reader.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <zstd.h>

namespace rdb::trace {

BlockReader::BlockReader(std::string path, LogKind kind, std::string_view trace_id,
                         std::shared_ptr<const LogTail> tail)
    : path_(std::move(path)), tail_(std::move(tail)) {
  try {
    fd_ = open_part(path_);
  } catch (const std::system_error& error) {
    user_error("{}", error.what());
  }

  LogFileHeader found = {};
  LogFileHeader expected = make_log_file_header(kind, trace_id);
  size_t size = pread_some(fd_.get(), &found, sizeof found, 0, path_);
  if (size < sizeof found)
    end_ = cut(size, "the file ends inside its header");
  else if (std::memcmp(found.magic, expected.magic, sizeof found.magic) != 0)
    end_ = damaged(0, kind == LogKind::inputs ? "not an input log" : "not a chunk log");
  else if (found.hash != hash_of(found))
    end_ = damaged(0, "the checksum of the file header does not match");
  else if (!is_readable_version(found.version) || found.size != sizeof found)
    end_ = damaged(8, fmt::format("format version {}; this rdb reads versions {} and {}", found.version,
                                  kOldestFormatVersion, kFormatVersion));
  else if (std::memcmp(found.trace_id, expected.trace_id, sizeof found.trace_id) != 0)
    end_ = damaged(16, "the file belongs to another trace");
  else
    is_log_ = true;
  ended_ = !is_log_;
  seed_ = found.hash;
}

BlockReader::~BlockReader() {
  if (context_ != nullptr) ZSTD_freeDCtx(context_);
}

// No block lies on both sides of the tail's beginning.
size_t BlockReader::read(void* data, size_t size, uint64_t offset) const {
  if (tail_ == nullptr || offset < tail_->begin) return pread_some(fd_.get(), data, size, offset, path_);
  uint64_t at = std::min<uint64_t>(offset - tail_->begin, tail_->bytes.size());
  size = std::min<size_t>(size, tail_->bytes.size() - at);
  if (size != 0) std::memcpy(data, &tail_->bytes[at], size);
  return size;
}

LogEnd BlockReader::cut(uint64_t offset, std::string reason) const {
  return {LogEnd::Kind::cut, LogClose::finished, end_.time, path_, offset, std::move(reason)};
}

LogEnd BlockReader::damaged(uint64_t offset, std::string reason) const {
  return {LogEnd::Kind::damaged, LogClose::finished, end_.time, path_, offset, std::move(reason)};
}

void BlockReader::end_damaged(std::string reason) {
  end_ = damaged(offset_, std::move(reason));
  ended_ = true;
}

// Reads and checks the header at `expect.offset`. When the log ends there, `end` says how.
BlockReader::Found BlockReader::read_header(const Expectation& expect, BlockHeader& header, LogEnd& end) {
  size_t size = read(&header, sizeof header, expect.offset);
  if (size == 0 && tail_ != nullptr && !tail_->end.file.empty()) {
    end = tail_->end;
    end.time = end_.time;
    return Found::end;
  }
  if (size < sizeof header) {
    end = cut(expect.offset,
              size == 0 ? "the recording was interrupted here" : "the file ends inside a block header");
    return Found::end;
  }
  const char* wrong = nullptr;
  if (header.magic != kBlockMagic)
    wrong = "no block begins here";
  else if (header.header_hash != hash_of(header, seed_))
    wrong = "the checksum of the block header does not match";
  else if (header.sequence != expect.sequence || header.first_record != expect.first_record)
    wrong = "a block is missing or out of order";
  else if ((header.flags & ~uint32_t{kBlockAllFlags}) != 0 || header.first_time > header.last_time ||
           header.first_time < expect.last_time)
    wrong = "the block header contradicts itself or the one before";
  else if (header.raw_size > kMaxBlock || header.hashes_size > kMaxBlock ||
           header.stored_size > 2 * kMaxBlock || header.hashes_size > header.stored_size ||
           header.record_count > header.raw_size)
    wrong = "the block header gives an impossible size";
  else if ((header.flags & kBlockLast) != 0 &&
           (header.record_count != 0 || header.raw_size != 0 || header.stored_size != 0 ||
            header.close < static_cast<uint32_t>(LogClose::finished) ||
            header.close > static_cast<uint32_t>(LogClose::gave_up)))
    wrong = "the last block contradicts itself";
  else if ((header.flags & kBlockLast) == 0 && header.record_count == 0)
    wrong = "a block without records";
  if (wrong != nullptr) {
    end = damaged(expect.offset, wrong);
    return Found::end;
  }
  if ((header.flags & kBlockLast) != 0) {
    end = {LogEnd::Kind::closed,   static_cast<LogClose>(header.close),
           Time(header.last_time), path_,
           expect.offset,          ""};
    return Found::end;
  }
  return Found::block;
}

// Reads the stored bytes of the block at `offset` and checks them.
bool BlockReader::read_stored(uint64_t offset, const BlockHeader& header, std::vector<uint8_t>& stored,
                              LogEnd& end) {
  stored.resize(header.stored_size);
  size_t size = read(stored.data(), stored.size(), offset + sizeof header);
  if (size < stored.size()) {
    end = cut(offset, "the file ends inside a block");
    return false;
  }
  if (xxh64(stored.data(), stored.size(), seed_) != header.payload_hash) {
    end = damaged(offset, "the checksum of the block does not match");
    return false;
  }
  return true;
}

BlockReader::Expectation BlockReader::after(const Expectation& expect, const BlockHeader& header) {
  return {expect.offset + sizeof header + header.stored_size, expect.sequence + 1,
          header.first_record + header.record_count, header.last_time};
}

bool BlockReader::next() {
  if (ended_) return false;
  ended_ = true; // unless all goes well
  BlockHeader header;
  if (read_header(expect_, header, end_) == Found::end || !read_stored(expect_.offset, header, stored_, end_))
    return false;
  offset_ = expect_.offset;
  std::span<const uint8_t> stored = stored_;
  records_ = stored.first(stored.size() - header.hashes_size);
  hashes_ = stored.last(header.hashes_size);
  if ((header.flags & kBlockRaw) == 0) {
    if (context_ == nullptr) context_ = ZSTD_createDCtx();
    if (context_ == nullptr) throw std::system_error(ENOMEM, std::generic_category(), path_);
    raw_.resize(header.raw_size);
    size_t size = ZSTD_decompressDCtx(context_, raw_.data(), raw_.size(), records_.data(), records_.size());
    if (ZSTD_isError(size) || size != header.raw_size) {
      end_ = damaged(offset_, "the block does not decompress");
      return false;
    }
    records_ = raw_;
  } else if (records_.size() != header.raw_size) {
    end_ = damaged(offset_, "an uncompressed block with two sizes");
    return false;
  }
  header_ = header;
  expect_ = after(expect_, header);
  ended_ = false;
  return true;
}

void BlockReader::go_to(size_t block) {
  const BlockRef& ref = index().at(block);
  expect_ = {ref.offset, block, ref.first_record, ref.first_time};
  ended_ = false;
}

const std::vector<BlockRef>& BlockReader::index() {
  if (indexed_) return index_;
  indexed_ = true;
  if (!is_log_) return index_;
  Expectation expect;
  BlockHeader header;
  LogEnd unused;
  while (read_header(expect, header, unused) == Found::block) {
    index_.push_back(
        {expect.offset, header.first_time, header.last_time, header.first_record, header.record_count});
    expect = after(expect, header);
  }
  return index_;
}

bool BlockReader::rest_of_input_is_sound() {
  Expectation expect = expect_;
  BlockHeader header;
  LogEnd end;
  do {
    if (read_header(expect, header, end) == Found::end || !read_stored(expect.offset, header, ahead_, end)) {
      end_ = end;
      ended_ = true;
      return false;
    }
    if ((header.flags & kBlockBeginsInside) == 0) {
      end_ = damaged(expect.offset, "the rest of the input before is missing");
      ended_ = true;
      return false;
    }
    expect = after(expect, header);
  } while ((header.flags & kBlockClosesInput) == 0);
  return true;
}

} // namespace rdb::trace
