// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// vFile answers: F, then a result or -1 and gdb's error number, then data.
#include "rdbtool/gdb/protocol/recorded_files.h"

#include "rdbtool/gdb/protocol/framing.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::gdb {

namespace {

// gdb's own error numbers.
constexpr int kNoEntry = 2, kBadFile = 9, kAccess = 13, kTooMany = 23;
constexpr uint64_t kWriteFlags = 1 | 2 | 8 | 0x200 | 0x400; // write, read-write, append, create, truncate
constexpr size_t kMaxOpen = 256;

std::string failure(int error) {
  return fmt::format("F-1,{:x}", error);
}

std::string with_data(std::span<const std::byte> data) {
  std::string answer = fmt::format("F{:x};", data.size());
  answer.append(reinterpret_cast<const char*>(data.data()), data.size());
  return answer;
}

struct TextFile : RecordedFile {
  std::string text;

  explicit TextFile(std::string t) : text(std::move(t)) {}
  uint64_t size() const override { return text.size(); }
  size_t read(uint64_t offset, std::span<std::byte> to) override {
    if (offset >= text.size()) return 0;
    size_t count = std::min<size_t>(to.size(), text.size() - offset);
    std::memcpy(to.data(), text.data() + offset, count);
    return count;
  }
};

struct StoredFile : RecordedFile {
  int fd;
  explicit StoredFile(int f) : fd(f) {}
  ~StoredFile() override { close(fd); }
  uint64_t size() const override {
    struct stat info{};
    fstat(fd, &info);
    return static_cast<uint64_t>(info.st_size);
  }
  size_t read(uint64_t offset, std::span<std::byte> to) override {
    ssize_t count = pread(fd, to.data(), to.size(), static_cast<off_t>(offset));
    return count < 0 ? 0 : static_cast<size_t>(count);
  }
};

void put_big_endian(Bytes& out, uint64_t value, size_t size) {
  for (size_t i = size; i-- > 0;)
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

} // namespace

std::unique_ptr<RecordedFile> file_of(int fd) {
  return std::make_unique<StoredFile>(fd);
}

std::string maps_text(const std::vector<MemoryRegion>& mappings) {
  std::string text;
  for (const MemoryRegion& m : mappings) {
    std::string line =
        fmt::format("{:x}-{:x} {}{}{}p {:08x} 00:00 {}", m.begin.value, m.end.value,
                    m.protection & PROT_READ ? 'r' : '-', m.protection & PROT_WRITE ? 'w' : '-',
                    m.protection & PROT_EXEC ? 'x' : '-', m.offset, m.path.starts_with('/') ? 1 : 0);
    if (!m.path.empty()) line = fmt::format("{:<72} {}", line, m.path);
    text += line + "\n";
  }
  return text;
}

std::unique_ptr<RecordedFile> RecordedFiles::find(const std::string& path) {
  std::string process = fmt::format("/proc/{}/", target_.pid());
  if (path.starts_with(process)) {
    std::string name = path.substr(process.size());
    // What is said about a thread is said about all: task/TID/maps.
    if (name.starts_with("task/")) name = name.substr(name.find('/', 5) + 1);
    if (name == "maps") return std::make_unique<TextFile>(maps_text(target_.mappings()));
    if (name == "cmdline") {
      std::string text;
      for (const std::string& word : target_.command_line())
        text += word + '\0';
      return std::make_unique<TextFile>(text);
    }
    if (name == "exe") return target_.open_file(target_.executable());
    return nullptr;
  }
  return target_.open_file(path);
}

std::string RecordedFiles::open(const std::string& path, uint64_t flags) {
  if (flags & kWriteFlags) return failure(kAccess);
  if (open_.size() >= kMaxOpen) return failure(kTooMany);
  auto file = find(path);
  if (!file) return failure(kNoEntry);
  open_[next_] = std::move(file);
  return fmt::format("F{:x}", next_++);
}

std::string RecordedFiles::read(uint64_t file, uint64_t count, uint64_t offset) {
  auto found = open_.find(file);
  if (found == open_.end()) return failure(kBadFile);
  Bytes data(std::min<uint64_t>(count, kMaxPacket));
  data.resize(found->second->read(offset, data));
  return with_data(data);
}

// gdb's portable struct stat: numbers in big-endian order, 64 bytes.
std::string RecordedFiles::stat(uint64_t file) {
  auto found = open_.find(file);
  if (found == open_.end()) return failure(kBadFile);
  constexpr uint64_t kRegularReadable = 0100444;
  uint64_t size = found->second->size();
  Bytes data;
  put_big_endian(data, 0, 4);                  // device
  put_big_endian(data, file, 4);               // inode
  put_big_endian(data, kRegularReadable, 4);   // mode
  put_big_endian(data, 1, 4);                  // links
  put_big_endian(data, 0, 4);                  // uid
  put_big_endian(data, 0, 4);                  // gid
  put_big_endian(data, 0, 4);                  // rdev
  put_big_endian(data, size, 8);               // size
  put_big_endian(data, 4096, 8);               // block size
  put_big_endian(data, (size + 511) / 512, 8); // blocks
  put_big_endian(data, 0, 4);                  // times
  put_big_endian(data, 0, 4);
  put_big_endian(data, 0, 4);
  return with_data(data);
}

std::string RecordedFiles::close(uint64_t file) {
  return open_.erase(file) ? "F0" : failure(kBadFile);
}

std::string RecordedFiles::read_link(const std::string& path) {
  if (path != fmt::format("/proc/{}/exe", target_.pid())) return failure(kNoEntry);
  std::string target = target_.executable();
  return with_data(std::as_bytes(std::span(target)));
}

} // namespace rdb::gdb
