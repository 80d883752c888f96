// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/zstd_stream.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <zstd.h>
#include <zstd_errors.h>

namespace rdb::trace {
namespace {

// Too little memory is neither a damaged file nor an error of rdb.
void check_memory(bool enough, const std::string& path) {
  if (!enough) throw std::system_error(ENOMEM, std::generic_category(), path);
}

bool has_memory(size_t result) {
  return ZSTD_getErrorCode(result) != ZSTD_error_memory_allocation;
}

} // namespace

ZstdFileWriter::ZstdFileWriter(std::string path)
    // Recordings hold secrets.
    : file_(std::move(path), 0600, Unfinished::by_remover), context_(ZSTD_createCCtx()),
      out_(ZSTD_CStreamOutSize()) {
  check_memory(context_ != nullptr, file_.path());
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, 3);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

ZstdFileWriter::~ZstdFileWriter() {
  ZSTD_freeCCtx(context_);
}

void ZstdFileWriter::compress(const void* data, size_t size, bool last) {
  ZSTD_inBuffer in = {data, size, 0};
  size_t pending = 0;
  do {
    ZSTD_outBuffer out = {out_.data(), out_.size(), 0};
    pending = ZSTD_compressStream2(context_, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    check_memory(has_memory(pending), file_.path());
    if (ZSTD_isError(pending)) bug("zstd: {}", ZSTD_getErrorName(pending));
    write_all(file_.fd(), out_.data(), out.pos, file_.path());
  } while (in.pos < in.size || (last && pending != 0));
}

void ZstdFileWriter::write(const void* data, size_t size) {
  compress(data, size, false);
}
void ZstdFileWriter::finish() {
  compress(nullptr, 0, true);
  file_.finish();
}

ZstdFileReader::ZstdFileReader(std::string path)
    : path_(std::move(path)), context_(ZSTD_createDCtx()), in_(ZSTD_DStreamInSize()) {
  check_memory(context_ != nullptr, path_);
  try {
    fd_ = open_file(path_, O_RDONLY | O_NOCTTY);
  } catch (const std::system_error& error) {
    user_error("{}", error.what());
  }
}

ZstdFileReader::~ZstdFileReader() {
  ZSTD_freeDCtx(context_);
}

size_t ZstdFileReader::read(void* data, size_t size) {
  ZSTD_outBuffer out = {data, size, 0};
  while (out.pos < out.size) {
    if (in_at_ == in_size_) {
      in_size_ = pread_some(fd_.get(), in_.data(), in_.size(), offset_, path_);
      in_at_ = 0;
      offset_ += in_size_;
    }
    if (in_size_ == 0 && !frame_open_) break;
    ZSTD_inBuffer in = {in_.data(), in_size_, in_at_};
    size_t before = out.pos;
    size_t result = ZSTD_decompressStream(context_, &out, &in);
    uint64_t at = offset_ - in_size_ + in.pos;
    check_memory(has_memory(result), path_);
    if (ZSTD_isError(result))
      user_error("{}: damaged near offset {}, or not made by rdb pack: {}", path_, at,
                 ZSTD_getErrorName(result));
    frame_open_ = result != 0;
    if (in_size_ == 0 && out.pos == before && frame_open_) user_error("{}: cut off at offset {}", path_, at);
    in_at_ = in.pos;
  }
  return out.pos;
}

} // namespace rdb::trace
