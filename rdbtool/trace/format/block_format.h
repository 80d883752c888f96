// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of a log file: a header that says what it is, then blocks. A block is a header that can be
// checked alone, for hopping through the file, and a compressed payload of whole records. All numbers are
// little-endian.
#pragma once

#include "rdbtool/base/hash.h"
#include "rdbtool/trace/format/metadata.h"

#include <cstdint>
#include <cstring>

namespace rdb::trace {

enum class LogKind : uint8_t { inputs, chunks };

inline constexpr char kInputsMagic[8] = {'R', 'D', 'B', 'I', 'N', 'P', 'U', 'T'};
inline constexpr char kChunksMagic[8] = {'R', 'D', 'B', 'C', 'H', 'U', 'N', 'K'};

struct LogFileHeader {
  char magic[8];
  uint32_t version;
  uint32_t size; // of this header
  char trace_id[32];
  uint64_t reserved;
  uint64_t hash; // XXH64 of the bytes before, seed 0; the seed of all block hashes in this file
};
static_assert(sizeof(LogFileHeader) == 64);

inline constexpr uint32_t kBlockMagic = 0x4b4c4252; // "RBLK"

enum BlockFlags : uint32_t {
  kBlockRaw = 1,          // the records are not compressed
  kBlockLast = 2,         // closes the log: no records, `close` says why
  kBlockBeginsInside = 4, // its first record continues an input (Input::continued)
  kBlockClosesInput = 8,  // it holds a record without Input::more: an input that began before it ends in it
  kBlockAllFlags = 15,
};

struct BlockHeader {
  uint32_t magic;
  uint32_t flags;
  uint64_t sequence;     // 0, 1, 2 ...
  uint32_t stored_size;  // bytes that follow this header: the records, compressed, then their hashes
  uint32_t raw_size;     // of the records, decompressed
  uint64_t first_time;   // inputs: of the first record. Chunks: when the first begins
  uint64_t last_time;    // inputs: of the last record. Chunks: when the last ends
  uint64_t first_record; // records in the file before this block
  uint32_t record_count;
  uint32_t first_ordinal; // inputs: of the first record, among those of its time
  uint64_t chunks;        // inputs: turns that were over when the last record was appended
  uint32_t close;         // kBlockLast: a LogClose
  uint32_t hashes_size;   // of the hashes, which are not compressed
  uint64_t payload_hash;  // XXH64 of the stored bytes
  uint64_t header_hash;   // XXH64 of the bytes before
};
static_assert(sizeof(BlockHeader) == 88);

// A block is written when its records fill this much; the last one may reach beyond it.
inline constexpr size_t kBlockTarget = 256 << 10;
// No block is larger, decompressed. A reader takes no more memory than this for one.
inline constexpr size_t kMaxBlock = 512 << 10;

inline uint64_t hash_of(const LogFileHeader& header) {
  return xxh64(&header, offsetof(LogFileHeader, hash));
}
inline uint64_t hash_of(const BlockHeader& header, uint64_t seed) {
  return xxh64(&header, offsetof(BlockHeader, header_hash), seed);
}

inline LogFileHeader make_log_file_header(LogKind kind, std::string_view trace_id) {
  LogFileHeader header = {};
  std::memcpy(header.magic, kind == LogKind::inputs ? kInputsMagic : kChunksMagic, sizeof header.magic);
  header.version = kFormatVersion;
  header.size = sizeof header;
  std::memcpy(header.trace_id, trace_id.data(), std::min(trace_id.size(), sizeof header.trace_id));
  header.hash = hash_of(header);
  return header;
}

} // namespace rdb::trace
