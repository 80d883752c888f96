// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/store.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/hash.h"
#include "rdbtool/trace/file_io.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rdb::trace {
namespace {

constexpr size_t kPiece = 256 << 10;
constexpr size_t kAlignment = 4096;

uint64_t nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

bool all_zero(const uint8_t* data, size_t size) {
  return size == 0 || (data[0] == 0 && std::memcmp(data, data + 1, size - 1) == 0);
}

// A file, read through a descriptor of its own. Looking for holes moves the position of a descriptor, which
// may be the guest's too; and the guest's may want reads that are aligned (O_DIRECT).
class Source {
public:
  Source(int fd, const std::string& name)
      : own_(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        fd_(own_ ? own_.get() : fd), name_(name) {}
  // Where the hole at `offset` ends; `offset` where there is none, or nothing is known.
  uint64_t end_of_hole(uint64_t offset) const {
    if (!own_) return offset;
    off_t data = lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0 && errno == ENXIO) data = lseek(fd_, 0, SEEK_END); // nothing but a hole, or the end
    return data < 0 ? offset : std::max(static_cast<uint64_t>(data), offset);
  }
  size_t read(void* to, size_t size, uint64_t offset) const {
    return pread_some(fd_, to, size, offset, name_);
  }

private:
  OwnedFd own_;
  int fd_;
  const std::string& name_;
};

// The hash of a file's bytes, with a mark in the place of every long run of zeros: a hole of a terabyte is
// hashed at once. What counts as a run is decided by pieces of one size, so that it does not matter which of
// them are holes.
class ContentHash {
public:
  enum class Runs : uint8_t { marked, as_they_are };
  explicit ContentHash(Runs runs) : runs_(runs) {}
  void add_zeros(uint64_t size) { zeros_ += size; }
  void add(const uint8_t* data, size_t size) {
    end_run();
    hash_.update(data, size);
  }
  uint64_t digest() {
    end_run();
    return hash_.digest();
  }

private:
  void end_run() {
    constexpr uint64_t kLong = 1 << 20;
    if (runs_ == Runs::as_they_are || zeros_ < kLong) {
      hash_.update_zeros(zeros_);
    } else {
      constexpr std::string_view kMark = "rdb: a run of zeros";
      hash_.update(kMark.data(), kMark.size());
      hash_.update(&zeros_, sizeof zeros_);
    }
    zeros_ = 0;
  }
  Runs runs_;
  Xxh64 hash_;
  uint64_t zeros_ = 0; // that have come last
};

// The id of a file; with `copy_to`, of the very bytes that are written there, whatever happens to the file
// meanwhile. Holes stay holes and are not read; runs of zeros become some.
ContentId read_through(int fd, const std::string& name, int copy_to = -1, const std::string& copy_name = {},
                       ContentHash::Runs runs = ContentHash::Runs::marked) {
  std::vector<uint8_t> buffer(kPiece + kAlignment);
  uint8_t* piece = buffer.data() + (kAlignment - reinterpret_cast<uintptr_t>(buffer.data()) % kAlignment);
  Source source(fd, name);
  ContentHash hash(runs);
  uint64_t offset = 0;
  for (;;) {
    uint64_t data = source.end_of_hole(offset) / kPiece * kPiece;
    if (data > offset) {
      hash.add_zeros(data - offset);
      offset = data;
    }
    size_t size = source.read(piece, kPiece, offset);
    if (size == 0) break;
    if (all_zero(piece, size)) {
      hash.add_zeros(size);
    } else {
      hash.add(piece, size);
      if (copy_to >= 0) pwrite_all(copy_to, piece, size, offset, copy_name);
    }
    offset += size;
    if (size < kPiece) break;
  }
  if (copy_to >= 0 && ftruncate(copy_to, static_cast<off_t>(offset)) != 0)
    throw_errno(copy_name, "cannot write");
  return {hash.digest(), offset};
}

// A link in its place could lead anywhere. It may also be missing: nothing was mapped.
void check_folder(const std::string& directory) {
  struct stat status;
  if (lstat(directory.c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    user_error("{}: not a folder of a trace", directory);
}

} // namespace

std::string to_string(const ContentId& id) {
  return fmt::format("{:016x}-{:x}", id.hash, id.size);
}

bool parse_content_id(std::string_view text, ContentId& id) {
  auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() < 18 || text.size() > 33 || text[16] != '-') return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i != 16 && !is_hex(text[i])) return false;
  id.hash = std::stoull(std::string(text.substr(0, 16)), nullptr, 16);
  id.size = std::stoull(std::string(text.substr(17)), nullptr, 16);
  // One name per id: leading zeros would give a second.
  return to_string(id) == text;
}

bool has_content(int fd, const std::string& name, const ContentId& id) {
  // Older traces have hashes of every single zero.
  return read_through(fd, name) == id || read_through(fd, name, -1, {}, ContentHash::Runs::as_they_are) == id;
}

ContentStore::ContentStore(std::string directory) : directory_(std::move(directory)) {}

std::string ContentStore::path_of(const ContentId& id) const {
  return directory_ + "/" + to_string(id);
}

ContentId ContentStore::add(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) throw_errno("mapped file", "cannot be looked at");
  if (!S_ISREG(status.st_mode))
    user_error("a mapped file that is no regular file cannot be stored in a trace");
  FileVersion identity = {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
                          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
  if (auto known = seen_.find(identity); known != seen_.end()) return known->second;

  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    throw_errno(directory_, "cannot make a directory");
  std::string fresh = directory_ + "/.new";
  unlink(fresh.c_str());
  OwnedFd copy = open_file(fresh, O_RDWR | O_CREAT | O_EXCL);
  ContentId id;
  try {
    bool cloned = ioctl(copy.get(), FICLONE, fd) == 0;
    id = cloned ? read_through(copy.get(), fresh) : read_through(fd, "mapped file", copy.get(), fresh);
    if (fchmod(copy.get(), 0400) != 0 || rename(fresh.c_str(), path_of(id).c_str()) != 0)
      throw_errno(path_of(id), "cannot write");
  } catch (...) {
    unlink(fresh.c_str());
    throw;
  }
  // A file written to in the same clock tick as it was read could change again without its times showing it.
  struct stat after;
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  constexpr uint64_t kSettled = 2'000'000'000;
  bool settled = nanoseconds(now) > nanoseconds(status.st_mtim) + kSettled;
  if (settled && fstat(fd, &after) == 0 && nanoseconds(after.st_mtim) == identity.mtime_ns &&
      nanoseconds(after.st_ctim) == identity.ctime_ns)
    seen_.emplace(identity, id);
  return id;
}

int ContentStore::open(const ContentId& id) const {
  std::string path = path_of(id);
  check_folder(directory_);
  OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd)
    user_error("{}: a file of the trace {}: {}", path, errno == ENOENT ? "is missing" : "cannot be opened",
               std::generic_category().message(errno));
  struct stat status;
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) != id.size)
    user_error("{}: a file of the trace has another size than its name says", path);
  if (!has_content(fd.get(), path, id))
    user_error("{}: a file of the trace is damaged: its hash does not match", path);
  return fd.release();
}

std::vector<ContentId> ContentStore::list() const {
  check_folder(directory_);
  std::vector<ContentId> ids;
  for (const auto& entry : entries_of(directory_))
    if (ContentId id; parse_content_id(entry.path().filename().string(), id)) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

} // namespace rdb::trace
