// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/debug_info_size.h"

#include "rdbtool/base/owned_fd.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <memory>
#include <string_view>

namespace rdb::replay {
namespace {

// Compilers' sections become three to six times as large.
constexpr uint64_t kMostGrowth = 16;
constexpr uint64_t kSmall = 16 << 20; // never too large
// The line table of one compiled file; the largest ones that are known have about a megabyte.
constexpr uint64_t kMostLines = 16 << 20;

// The size of a compressed section when it is decompressed; 0 if it is not compressed.
uint64_t decompressed_size(Elf_Scn* section, const GElf_Shdr& header, std::string_view name) {
  GElf_Chdr compression;
  if (header.sh_flags & SHF_COMPRESSED)
    return gelf_getchdr(section, &compression) != nullptr ? compression.ch_size : 0;
  constexpr std::string_view kMagic = "ZLIB";
  constexpr size_t kHeader = 12; // and the size, its highest byte first
  const Elf_Data* data = name.starts_with(".zdebug_") ? elf_rawdata(section, nullptr) : nullptr;
  if (data == nullptr || data->d_size < kHeader ||
      std::memcmp(data->d_buf, kMagic.data(), kMagic.size()) != 0)
    return 0;
  uint64_t size;
  std::memcpy(&size, static_cast<const char*>(data->d_buf) + kMagic.size(), sizeof size);
  return __builtin_bswap64(size);
}

uint64_t longest_line_table(Elf_Scn* section) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return 0;
  std::string_view left(static_cast<const char*>(data->d_buf), data->d_size);
  uint64_t longest = 0;
  while (left.size() >= 4) {
    uint32_t length;
    std::memcpy(&length, left.data(), sizeof length);
    left.remove_prefix(4);
    uint64_t size = length;
    if (length == UINT32_MAX) { // the 64-bit format
      if (left.size() < 8) break;
      std::memcpy(&size, left.data(), sizeof size);
      left.remove_prefix(8);
    }
    size = std::min<uint64_t>(size, left.size());
    longest = std::max(longest, size);
    left.remove_prefix(size);
  }
  return longest;
}

} // namespace

std::string why_too_large(const std::string& file) {
  OwnedFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return ""; // who reads it says so
  elf_version(EV_CURRENT);
  std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr), elf_end);
  size_t names;
  if (!elf || elf_getshdrstrndx(elf.get(), &names) != 0) return "";
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    const char* text =
        gelf_getshdr(section, &header) != nullptr ? elf_strptr(elf.get(), names, header.sh_name) : nullptr;
    if (text == nullptr) continue;
    std::string_view name = text;
    uint64_t size = decompressed_size(section, header, name);
    if (size > kSmall && size / kMostGrowth > header.sh_size)
      return fmt::format("section {} of {} bytes claims to be {} bytes when it is decompressed", name,
                         header.sh_size, size);
    if (name == ".debug_line" && size == 0 && longest_line_table(section) > kMostLines)
      return "it has a line table of more than 16 MiB for one source";
  }
  return "";
}

} // namespace rdb::replay
