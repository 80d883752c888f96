// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/block_writer.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/file_io.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

namespace rdb::trace {
namespace {

// The recorder shares the machine with the recorded program: the fastest level that still finds repetitions.
constexpr int kCompressionLevel = 1;

} // namespace

Compressor::Compressor() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kCompressionLevel);
}

Compressor::~Compressor() {
  ZSTD_freeCCtx(context_);
}

std::span<const uint8_t> Compressor::compress(std::span<const uint8_t> raw) {
  if (out_.size() < raw.size()) out_.resize(raw.size());
  // Room for fewer bytes than there were: if they do not fit, compressing them is of no use.
  size_t room = raw.empty() ? 0 : raw.size() - 1;
  size_t size = ZSTD_compress2(context_, out_.data(), room, raw.data(), raw.size());
  if (ZSTD_isError(size)) return {};
  return {out_.data(), size};
}

BlockWriter::BlockWriter(std::string path, LogKind kind, std::string_view trace_id, Compressor& compressor)
    : path_(std::move(path)), compressor_(compressor) {
  LogFileHeader header = make_log_file_header(kind, trace_id);
  OwnedFd fd = open_file(path_, O_WRONLY | O_CREAT | O_EXCL);
  write_all(fd.get(), &header, sizeof header, path_);
  seed_ = header.hash;
  size_ = sizeof header;
}

void BlockWriter::write(BlockHeader header, std::span<const uint8_t> payload) {
  RDB_CHECK(payload.size() <= kMaxBlock);
  std::span<const uint8_t> stored = compressor_.compress(payload);
  if (stored.empty()) {
    stored = payload;
    header.flags |= kBlockRaw;
  }
  header.magic = kBlockMagic;
  header.sequence = sequence_;
  header.stored_size = static_cast<uint32_t>(stored.size());
  header.raw_size = static_cast<uint32_t>(payload.size());
  header.first_record = records_;
  header.payload_hash = xxh64(stored.data(), stored.size(), seed_);
  header.header_hash = hash_of(header, seed_);

  OwnedFd fd = open_file(path_, O_WRONLY);
  try {
    pwrite_all(fd.get(), &header, sizeof header, size_, path_);
    pwrite_all(fd.get(), stored.data(), stored.size(), size_ + sizeof header, path_);
  } catch (...) {
    // Best effort: a reader finds the cut by the checksum too.
    if (ftruncate(fd.get(), static_cast<off_t>(size_)) != 0) { /* nothing more can be done */
    }
    throw;
  }
  size_ += sizeof header + stored.size();
  ++sequence_;
  records_ += header.record_count;
}

} // namespace rdb::trace
