// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/block_writer.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/file_io.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

namespace rdb::trace {
namespace {

// The recorder shares the machine with the recorded program: the fastest level that still finds repetitions.
constexpr int kCompressionLevel = 1;
// Matches this long, looked for in a table this small, are found only where one byte repeats for long.
constexpr int kLongestMinimum = 7;
constexpr int kSmallestTable = 6;

// Smaller blocks are rare in a log that grows fast, and say little about the next one.
constexpr size_t kWorthTrying = 128 << 10;
constexpr unsigned kTryEvery = 32;
// How much searching for repetitions must win.
constexpr size_t kWorthSearching = 8; // one part in as many

} // namespace

Compressor::Compressor() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kCompressionLevel);
}

Compressor::~Compressor() {
  ZSTD_freeCCtx(context_);
}

std::span<const uint8_t> Compressor::compress(std::span<const uint8_t> raw, Method method) {
  if (method != set_) {
    bool searches = method == Method::repetitions;
    // 0: as the level has it.
    ZSTD_CCtx_setParameter(context_, ZSTD_c_minMatch, searches ? 0 : kLongestMinimum);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_hashLog, searches ? 0 : kSmallestTable);
    set_ = method;
  }
  if (out_.size() < raw.size()) out_.resize(raw.size());
  // Room for fewer bytes than there were: if they do not fit, compressing them is of no use.
  size_t room = raw.empty() ? 0 : raw.size() - 1;
  size_t size = ZSTD_compress2(context_, out_.data(), room, raw.data(), raw.size());
  if (ZSTD_isError(size)) return {};
  return {out_.data(), size};
}

std::span<const uint8_t> MethodChoice::compress(Compressor& compressor, std::span<const uint8_t> raw) {
  if (raw.size() < kWorthTrying) return compressor.compress(raw);
  if (left_ > 0) {
    --left_;
    return compressor.compress(raw, method_);
  }
  auto size = [&](std::span<const uint8_t> out) { return out.empty() ? raw.size() : out.size(); };
  size_t quick = size(compressor.compress(raw, Method::frequencies));
  std::span<const uint8_t> result = compressor.compress(raw, Method::repetitions);
  bool wins = quick - std::min(quick, size(result)) >= quick / kWorthSearching;
  method_ = wins ? Method::repetitions : Method::frequencies;
  left_ = kTryEvery - 1;
  return result;
}

BlockWriter::BlockWriter(std::string path, LogKind kind, std::string_view trace_id, Compressor& compressor)
    : path_(std::move(path)), compressor_(compressor) {
  LogFileHeader header = make_log_file_header(kind, trace_id);
  OwnedFd fd = open_file(path_, O_WRONLY | O_CREAT | O_EXCL);
  write_all(fd.get(), &header, sizeof header, path_);
  seed_ = header.hash;
  size_ = sizeof header;
}

BlockWriter::BlockWriter(std::string path, LogKind kind, std::string_view trace_id, Compressor& compressor,
                         const LogFileState& end)
    : path_(std::move(path)), compressor_(compressor), seed_(make_log_file_header(kind, trace_id).hash),
      size_(end.size), sequence_(end.sequence), records_(end.records), to_memory_(true) {}

void BlockWriter::write(BlockHeader header, std::span<const uint8_t> records,
                        std::span<const uint8_t> hashes) {
  RDB_CHECK(records.size() <= kMaxBlock && hashes.size() <= kMaxBlock);
  std::span<const uint8_t> stored = method_.compress(compressor_, records);
  if (stored.empty()) {
    stored = records;
    header.flags |= kBlockRaw;
  }
  header.magic = kBlockMagic;
  header.sequence = sequence_;
  header.stored_size = static_cast<uint32_t>(stored.size() + hashes.size());
  header.raw_size = static_cast<uint32_t>(records.size());
  header.hashes_size = static_cast<uint32_t>(hashes.size());
  header.first_record = records_;
  Xxh64 hash(seed_);
  hash.update(stored.data(), stored.size());
  hash.update(hashes.data(), hashes.size());
  header.payload_hash = hash.digest();
  header.header_hash = hash_of(header, seed_);

  std::span<const uint8_t> head(reinterpret_cast<const uint8_t*>(&header), sizeof header);
  if (to_memory_) {
    for (std::span<const uint8_t> part : {head, stored, hashes})
      memory_.insert(memory_.end(), part.begin(), part.end());
  } else {
    append({head, stored, hashes});
  }
  size_ += sizeof header + header.stored_size;
  ++sequence_;
  records_ += header.record_count;
}

void BlockWriter::append(std::initializer_list<std::span<const uint8_t>> parts) {
  OwnedFd fd = open_file(path_, O_WRONLY);
  try {
    uint64_t at = size_;
    for (std::span<const uint8_t> part : parts) {
      pwrite_all(fd.get(), part.data(), part.size(), at, path_);
      at += part.size();
    }
  } catch (...) {
    // Best effort: a reader finds the cut by the checksum too.
    [[maybe_unused]] int ignored = ftruncate(fd.get(), static_cast<off_t>(size_));
    throw;
  }
}

} // namespace rdb::trace
