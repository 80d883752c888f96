// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring/file_changes.h"

#include "rdbtool/base/raw_syscall.h"

#include <algorithm>
#include <climits>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace rdb::trace {

void MappedFiles::set_process(int32_t pid, bool forked) {
  pid_ = pid;
  if (!forked) inherited_.clear();
}

int32_t MappedFiles::held_process(size_t index) const {
  return index < held_.size() && held_[index] != nullptr ? held_[index]->pid_ : 0;
}

bool MappedFiles::take_change(FilePart& part) {
  if (changes_.empty()) return false;
  part = changes_.front();
  changes_.pop_front();
  return true;
}

// Another process has this file mapped.
void MappedFiles::show(const File& file) {
  uint32_t bit = FilePart::bit_of(file.first, file.second);
  flags_.mapped[bit / 64].fetch_or(uint64_t{1} << bit % 64);
}

void FileChanges::add(MappedFiles& process, const MappedFiles* parent) {
  if (parent != nullptr) {
    process.inherited_ = parent->inherited_;
    process.inherited_.insert(parent->files_.begin(), parent->files_.end());
  }
  for (MappedFiles* other : processes_) {
    for (const auto* files : {&other->files_, &other->inherited_})
      for (const MappedFiles::File& file : *files)
        process.show(file);
    for (const MappedFiles::File& file : process.inherited_)
      other->show(file);
  }
  processes_.push_back(&process);
}

void FileChanges::remove(MappedFiles& process) {
  if (process.is_changing_) end(process, {process.changing_.first, process.changing_.second, 0, UINT64_MAX});
  std::erase(processes_, &process);
  for (MappedFiles* other : processes_)
    std::ranges::replace(other->held_, &process, nullptr);
}

void FileChanges::map(MappedFiles& process, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return;
  MappedFiles::File file(info.st_dev, info.st_ino);
  if (!process.files_.insert(file).second) return;
  for (MappedFiles* other : processes_) {
    if (other == &process) continue;
    other->show(file);
    if (other->is_changing_ && other->changing_ == file) hold(*other, process);
  }
}

void FileChanges::hold(MappedFiles& writer, MappedFiles& other) {
  other.flags_.holds.fetch_add(1, std::memory_order_seq_cst);
  writer.held_.push_back(&other);
}

size_t FileChanges::begin(MappedFiles& writer, const FilePart& part) {
  MappedFiles::File file(part.device, part.inode);
  writer.is_changing_ = true;
  writer.changing_ = file;
  for (MappedFiles* other : processes_)
    if (other != &writer && other->has(file)) hold(writer, *other);
  return writer.held_.size();
}

void FileChanges::end(MappedFiles& writer, const FilePart& part) {
  writer.is_changing_ = false;
  for (MappedFiles* other : std::exchange(writer.held_, {})) {
    if (other == nullptr) continue;
    if (part.begin != part.end) {
      other->changes_.push_back(part);
      other->flags_.changes.fetch_add(1, std::memory_order_seq_cst);
    }
    other->flags_.holds.fetch_sub(1, std::memory_order_seq_cst);
    raw_syscall(SYS_futex, raw_pointer(&other->flags_.holds), FUTEX_WAKE, INT_MAX, 0, 0, 0);
  }
}

} // namespace rdb::trace
