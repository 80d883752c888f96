// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/format/tar.h"

#include "rdbtool/base/error.h"

#include <cstring>

namespace rdb::trace {
namespace {

struct UstarHeader {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link[100];
  char magic[6];
  char version[2];
  char user[32];
  char group[32];
  char device[16];
  char prefix[155];
  char padding[12];
};
static_assert(sizeof(UstarHeader) == kTarBlock);

template <size_t N>
void put_octal(char (&field)[N], uint64_t value) {
  std::string text = fmt::format("{:0{}o}", value, N - 1);
  std::memcpy(field, text.data(), N - 1); // the last byte stays zero
}

void put_size(char (&field)[12], uint64_t size) {
  if (size < uint64_t{1} << 33) return put_octal(field, size);
  // GNU: the top bit of the field set, then a big-endian number.
  field[0] = static_cast<char>(0x80);
  for (int i = 0; i < 8; ++i)
    field[11 - i] = static_cast<char>(size >> 8 * i);
}

template <size_t N>
bool get_number(const char (&field)[N], uint64_t& value) {
  value = 0;
  if ((field[0] & 0x80) != 0) {
    for (size_t i = 1; i < N - 8; ++i)
      if (field[i] != 0) return false;
    for (size_t i = N - 8; i < N; ++i)
      value = value << 8 | static_cast<uint8_t>(field[i]);
    return field[0] == static_cast<char>(0x80);
  }
  size_t i = 0;
  while (i < N && field[i] == ' ')
    ++i;
  for (; i < N && field[i] >= '0' && field[i] <= '7'; ++i)
    value = value << 3 | static_cast<uint64_t>(field[i] - '0');
  return i == N || field[i] == 0 || field[i] == ' ';
}

uint64_t checksum_of(const UstarHeader& header) {
  uint8_t bytes[kTarBlock];
  std::memcpy(bytes, &header, sizeof bytes);
  std::memset(bytes + offsetof(UstarHeader, checksum), ' ', sizeof header.checksum);
  uint64_t sum = 0;
  for (uint8_t byte : bytes)
    sum += byte;
  return sum;
}

// Where to split a long path: at the last slash that leaves both parts within their fields.
size_t split_point(const std::string& path) {
  UstarHeader* unused = nullptr;
  for (size_t at = path.rfind('/', sizeof unused->prefix); at != std::string::npos && at != 0;
       at = path.rfind('/', at - 1))
    if (path.size() - at - 1 <= sizeof unused->name && path.size() > at + 1) return at;
  bug("{}: too long for a tar file", path);
}

} // namespace

void write_tar_header(const TarEntry& entry, uint8_t (&block)[kTarBlock]) {
  UstarHeader header = {};
  if (entry.path.size() <= sizeof header.name) {
    std::memcpy(header.name, entry.path.data(), entry.path.size());
  } else {
    size_t at = split_point(entry.path);
    std::memcpy(header.prefix, entry.path.data(), at);
    std::memcpy(header.name, entry.path.data() + at + 1, entry.path.size() - at - 1);
  }
  put_octal(header.mode, entry.is_directory() ? 0700 : 0600);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_size(header.size, entry.size);
  put_octal(header.mtime, entry.mtime);
  header.type = entry.is_directory() ? '5' : '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  std::string sum = fmt::format("{:06o}", checksum_of(header));
  std::memcpy(header.checksum, sum.c_str(), 7);
  header.checksum[7] = ' ';
  std::memcpy(block, &header, sizeof header);
}

TarHeader read_tar_header(const uint8_t (&block)[kTarBlock], TarEntry& entry) {
  bool empty = true;
  for (uint8_t byte : block)
    empty &= byte == 0;
  if (empty) return TarHeader::end;
  UstarHeader header;
  std::memcpy(&header, block, sizeof header);
  uint64_t sum;
  if (std::memcmp(header.magic, "ustar", 5) != 0 || !get_number(header.checksum, sum) ||
      sum != checksum_of(header) || !get_number(header.size, entry.size) ||
      !get_number(header.mtime, entry.mtime))
    return TarHeader::none;
  std::string name(header.name, strnlen(header.name, sizeof header.name));
  std::string prefix(header.prefix, strnlen(header.prefix, sizeof header.prefix));
  entry.path = prefix.empty() ? name : prefix + "/" + name;
  if (header.type == '5') {
    if (!entry.is_directory()) entry.path += '/';
    return TarHeader::entry;
  }
  return header.type == '0' || header.type == 0 ? TarHeader::entry : TarHeader::other_type;
}

} // namespace rdb::trace
