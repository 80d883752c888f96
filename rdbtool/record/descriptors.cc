// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/descriptors.h"

#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/syscalls/call_properties.h"

#include <sys/sysmacros.h>

namespace rdb::record {
namespace {

bool is_null_device(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
}

} // namespace

OwnCopy::OwnCopy(int guest_fd) : fd_(guest::duplicate_out_of_reach(guest_fd)) {}

OwnCopy::~OwnCopy() {
  if (fd_ >= 0) guest::close_own_descriptor(fd_);
}

Descriptors::Descriptors() {
  for (int fd : {1, 2}) {
    struct stat info;
    // What goes to the null device was never seen, and a program may have other reasons to write there.
    if (fstat(fd, &info) == 0 && !is_null_device(info)) standard_[fd] = {info.st_dev, info.st_ino};
  }
}

// Both may be the same file: then its own number decides.
trace::OutputStream Descriptors::stream_of(int fd, const struct stat& info) const {
  auto is = [&](int standard) {
    return standard_[standard].inode != 0 && standard_[standard].inode == info.st_ino &&
           standard_[standard].device == info.st_dev;
  };
  if (fd == 2 && is(2)) return trace::OutputStream::standard_error;
  if (is(1)) return trace::OutputStream::standard_output;
  return is(2) ? trace::OutputStream::standard_error : trace::OutputStream::none;
}

Descriptors::Facts Descriptors::facts(int fd, const guest::AddressSpace& space) {
  bool remember = fd >= 0 && static_cast<size_t>(fd) < kRemembered;
  if (remember && remembered_[static_cast<size_t>(fd)].known) return remembered_[static_cast<size_t>(fd)];
  Facts facts;
  struct stat info;
  if (fstat(fd, &info) != 0) return facts;
  facts.known = true;
  facts.regular = S_ISREG(info.st_mode);
  facts.stream = stream_of(fd, info);
  facts.file_bit = trace::FilePart::bit_of(info.st_dev, info.st_ino);
  // Asking again at each call would be too much for servers; nobody redirects output by way of these.
  bool server_file = S_ISSOCK(info.st_mode) || (info.st_mode & S_IFMT) == 0;
  facts.may_be_moved = fd == 1 || fd == 2 || facts.stream != trace::OutputStream::none || !server_file;
  for (const auto& [begin, mapping] : space.mappings())
    facts.mapped |= mapping.inode == info.st_ino && mapping.device == info.st_dev && mapping.inode != 0;
  if (remember && !changing()) {
    remembered_[static_cast<size_t>(fd)] = facts;
    any_ = true;
  }
  return facts;
}

std::shared_ptr<const OwnCopy> Descriptors::copy(int fd) {
  bool remember = fd >= 0 && static_cast<size_t>(fd) < kRemembered && !changing() &&
                  remembered_[static_cast<size_t>(fd)].known;
  if (!remember) return std::make_shared<const OwnCopy>(fd);
  if (auto known = copies_.find(fd); known != copies_.end()) return known->second;
  // The numbers that the guest does not see are few, and other things need some of them too.
  if (copies_.size() == kMostCopies) copies_.clear();
  return copies_[fd] = std::make_shared<const OwnCopy>(fd);
}

trace::OutputStream Descriptors::stream(int fd, int open) const {
  struct stat info;
  return fstat(open, &info) == 0 ? stream_of(fd, info) : trace::OutputStream::none;
}

size_t Descriptors::file_of(trace::OutputStream stream) const {
  bool one = stream == trace::OutputStream::standard_error && standard_[1] == standard_[2];
  return static_cast<size_t>(one ? trace::OutputStream::standard_output : stream);
}

void Descriptors::after_call(int64_t number) {
  if (any_ && properties_of(number).descriptors != DescriptorEffect::keeps) forget();
}

void Descriptors::forget() {
  remembered_ = {};
  copies_.clear();
  any_ = false;
}

Descriptors::Change::Change(Descriptors& descriptors, int64_t number) {
  if (properties_of(number).descriptors != DescriptorEffect::moves) return;
  descriptors_ = &descriptors;
  descriptors_->forget();
  ++descriptors_->changing_;
}

Descriptors::Change::~Change() {
  if (descriptors_ != nullptr) --descriptors_->changing_;
}

} // namespace rdb::record
