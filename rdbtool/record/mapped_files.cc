// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/mapped_files.h"

#include "rdbtool/guest/calls/open_call.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

// How a call names the file that it changes.
enum class NamedBy : uint8_t { nothing, descriptor, path };

struct ChangedFile {
  NamedBy names = NamedBy::nothing;
  uint8_t argument = 0;
  int16_t directory = kNoArgument; // argument that holds the descriptor of the path's directory
};

ChangedFile target_of(const guest::SystemCall& call, guest::AddressSpace& space) {
  const CallProperties& properties = properties_of(call.number);
  if (properties.changed_fd_arg != kNoArgument)
    return {NamedBy::descriptor, static_cast<uint8_t>(properties.changed_fd_arg)};
  bool changes = properties.truncates && (!properties.opens || guest::open_flags(call, space) & O_TRUNC);
  return changes
             ? ChangedFile{NamedBy::path, static_cast<uint8_t>(properties.path_arg), properties.directory_arg}
             : ChangedFile{};
}

// The argument that points to the offset at which the call writes; 0 if there is none.
uint64_t offset_pointer(const guest::SystemCall& call) {
  return properties_of(call.number).position == FilePosition::pointed_to ? call.arguments[3] : 0;
}

// The size that a truncating call has given the file.
uint64_t size_now(const guest::SystemCall& call) {
  bool named = call.number == SYS_ftruncate || call.number == SYS_truncate;
  return named ? call.arguments[1] : 0;
}

bool is_mapped(const guest::AddressSpace& space, uint64_t device, uint64_t inode) {
  return std::any_of(space.mappings().begin(), space.mappings().end(), [&](const auto& entry) {
    return entry.second.inode == inode && entry.second.device == device && inode != 0;
  });
}

} // namespace

void FileChange::before(const guest::SystemCall& call, Descriptors& descriptors, guest::AddressSpace& space,
                        const SharedPages& shared, const trace::LogProducer& log) {
  possible_ = false;
  ChangedFile target = target_of(call, space);
  if (target.names == NamedBy::nothing) return;
  struct stat info;
  if (target.names == NamedBy::descriptor) {
    fd_ = static_cast<int>(call.arguments[target.argument]);
    Descriptors::Facts facts = descriptors.facts(fd_, space);
    bool may_be = facts.mapped || shared.any() || log.may_be_mapped(facts.file_bit);
    if (!may_be || fstat(fd_, &info) != 0) return;
  } else {
    fd_ = -1;
    int directory = target.directory == kNoArgument
                        ? AT_FDCWD
                        : static_cast<int>(call.arguments[static_cast<size_t>(target.directory)]);
    // The kernel reads the guest's path and finds out whether it can be read.
    auto path = GuestAddr(call.arguments[target.argument]).ptr<const char>();
    if (syscall(SYS_newfstatat, directory, path, &info, 0) != 0) return;
  }
  bool mapped = is_mapped(space, info.st_dev, info.st_ino) || shared.has_file(info.st_dev, info.st_ino) ||
                log.may_be_mapped(trace::FilePart::bit_of(info.st_dev, info.st_ino));
  if (!S_ISREG(info.st_mode) || !mapped) return;
  possible_ = true;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  old_size_ = static_cast<uint64_t>(info.st_size);
  old_offset_ = 0;
  if (uint64_t pointer = offset_pointer(call)) {
    // What cannot be read makes the call fail.
    space.read(GuestAddr(pointer), &old_offset_, sizeof old_offset_);
  }
  planned_ = plan(call);
  // A file that grows changes on the page of its old end, too.
  if (planned_.end > old_size_) planned_.begin = std::min(planned_.begin, old_size_);
}

FileChange::Range FileChange::plan(const guest::SystemCall& call) const {
  const SyscallArgs& a = call.arguments;
  if (properties_of(call.number).truncates) return {std::min(old_size_, size_now(call)), UINT64_MAX};
  bool appends = fd_ >= 0 && fcntl(fd_, F_GETFL) & O_APPEND;
  if (appends) return {old_size_, UINT64_MAX};
  const CallProperties& properties = properties_of(call.number);
  uint64_t count = std::min<uint64_t>(a[2], INT32_MAX);
  if (properties.position == FilePosition::in_argument)
    return properties.writes == DataForm::buffer ? at_offset(a[3], count) : Range{a[3], UINT64_MAX};
  if (properties.position != FilePosition::own || properties.writes != DataForm::buffer) return {};
  off_t at = lseek(fd_, 0, SEEK_CUR);
  return at < 0 ? Range{} : at_offset(static_cast<uint64_t>(at), count);
}

FileChange::Range FileChange::at_offset(uint64_t offset, uint64_t count) const {
  return {offset, offset + count};
}

// The part of the file that `count` bytes went to.
FileChange::Range FileChange::written(const guest::SystemCall& call, uint64_t count) const {
  bool appends = fd_ >= 0 && fcntl(fd_, F_GETFL) & O_APPEND;
  if (appends) return {old_size_, UINT64_MAX};
  FilePosition position = properties_of(call.number).position;
  if (position == FilePosition::unknown) return {};
  if (position == FilePosition::in_argument) return at_offset(call.arguments[3], count);
  if (offset_pointer(call) != 0) return at_offset(old_offset_, count);
  off_t end = lseek(fd_, 0, SEEK_CUR);
  return end < 0 ? Range{} : at_offset(static_cast<uint64_t>(end) - count, count);
}

uint64_t FileChange::present_size() const {
  struct stat info;
  return fd_ >= 0 && fstat(fd_, &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

FileChange::Range FileChange::changed(const guest::SystemCall& call, int64_t result) const {
  constexpr Range kNothing{0, 0};
  if (!possible_ || result < 0) return kNothing;
  Range range;
  if (call.number == SYS_fallocate) {
    if ((call.arguments[1] & ~uint64_t{FALLOC_FL_KEEP_SIZE}) == 0) return kNothing; // room, and no change
    // A hole or zeroes at one place, or everything after it moves.
    bool here = call.arguments[1] & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE);
    range.begin = call.arguments[2];
    if (here) range.end = range.begin + call.arguments[3];
  } else if (properties_of(call.number).truncates) {
    range = {std::min(old_size_, size_now(call)), guest::page_up(old_size_)};
  } else {
    if (result == 0 && call.number != SYS_ioctl) return kNothing;
    range = written(call, static_cast<uint64_t>(result));
  }
  uint64_t new_size = present_size();
  range.end = std::min(range.end, guest::page_up(std::max(old_size_, new_size)));
  // A file that grows loses what its mappings have written after its old end, on the page of that end.
  if (new_size > old_size_) range.begin = std::min(range.begin, old_size_);
  return range;
}

std::vector<FileChange::Piece> FileChange::after(const guest::SystemCall& call, int64_t result,
                                                 guest::AddressSpace& space) const {
  std::vector<Piece> pieces;
  Range range = changed(call, result);
  if (range.empty()) return pieces;
  // Of a hole between the old end of the file and what was written, the page of that end alone is different.
  uint64_t hole = guest::page_up(old_size_);
  if (range.begin == old_size_ && !properties_of(call.number).truncates && hole < range.end) {
    add_pieces({old_size_, hole}, space, pieces);
    range.begin = hole;
  }
  add_pieces(range, space, pieces);
  return pieces;
}

// What the mappings of the file hold of this part of it.
void FileChange::add_pieces(Range range, guest::AddressSpace& space, std::vector<Piece>& pieces) const {
  for (const auto& [key, mapping] : space.mappings()) {
    if (mapping.inode != inode_ || mapping.device != device_) continue;
    uint64_t size = mapping.end - mapping.begin;
    uint64_t from = std::max(range.begin, mapping.offset);
    uint64_t to = std::min(range.end, mapping.offset + size);
    if (from >= to) continue;
    constexpr uint64_t kLarge = 1 << 20;
    Piece piece{GuestAddr(mapping.begin + (from - mapping.offset)), to - from, {}};
    if (piece.size <= kLarge) piece.bytes.resize(piece.size);
    // What lies after the new end of the file cannot be read, and is zero if the file ever grows again.
    space.peek(piece.address, piece.bytes.data(), piece.bytes.size());
    pieces.push_back(std::move(piece));
  }
}

} // namespace rdb::record
