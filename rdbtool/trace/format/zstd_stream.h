// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that is compressed while it is written and decompressed while it is read, with zstd's own checksum
// over the content.
#pragma once

#include "rdbtool/base/output_file.h"
#include "rdbtool/trace/file_io.h"

#include <cstdint>
#include <string>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace rdb::trace {

class ZstdFileWriter {
public:
  explicit ZstdFileWriter(std::string path); // as OutputFile; throws std::system_error
  ~ZstdFileWriter();
  ZstdFileWriter(const ZstdFileWriter&) = delete;
  ZstdFileWriter& operator=(const ZstdFileWriter&) = delete;
  void write(const void* data, size_t size);
  // Puts the file in its place; without it nothing is left of it.
  void finish();

private:
  void compress(const void* data, size_t size, bool last);
  OutputFile file_;
  ZSTD_CCtx_s* context_;
  std::vector<uint8_t> out_;
};

class ZstdFileReader {
public:
  explicit ZstdFileReader(std::string path); // throws UserError
  ~ZstdFileReader();
  ZstdFileReader(const ZstdFileReader&) = delete;
  ZstdFileReader& operator=(const ZstdFileReader&) = delete;
  // As many bytes as there are. Throws UserError naming file and offset when the file is cut or damaged.
  size_t read(void* data, size_t size);
  uint64_t consumed() const { return offset_; } // compressed bytes, with those that are decoded next

private:
  std::string path_;
  OwnedFd fd_;
  ZSTD_DCtx_s* context_;
  std::vector<uint8_t> in_;
  size_t in_size_ = 0;
  size_t in_at_ = 0;
  uint64_t offset_ = 0;     // of the end of in_ in the file
  bool frame_open_ = false; // bytes of a frame have been read, its end has not
};

} // namespace rdb::trace
