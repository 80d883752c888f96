// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The headers of tar files (ustar), as far as a packed trace needs them: regular files and directories. Sizes
// past the eight gibibytes of the original format are written as GNU tar does.
#pragma once

#include <cstdint>
#include <string>

namespace rdb::trace {

inline constexpr size_t kTarBlock = 512;

struct TarEntry {
  std::string path; // directories end in a slash
  uint64_t size = 0;
  uint64_t mtime = 0; // seconds
  bool is_directory() const { return !path.empty() && path.back() == '/'; }
};

// Fills one block. Throws Bug if the path is longer than the format allows (255 bytes, with a slash to split
// at).
void write_tar_header(const TarEntry& entry, uint8_t (&block)[kTarBlock]);

enum class TarHeader { entry, end, none, other_type };
// kEnd: a block of zeros. kNone: no tar header, or its checksum is wrong. kOtherType: a link, a device ...;
// `entry.path` is set then too.
TarHeader read_tar_header(const uint8_t (&block)[kTarBlock], TarEntry& entry);

// The bytes after a file's content that fill its last block.
constexpr size_t tar_padding(uint64_t size) {
  return static_cast<size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

} // namespace rdb::trace
