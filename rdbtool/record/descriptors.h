// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the recorder must know about a descriptor that the guest writes to: whether replay is to show what
// goes there, and whether it is a file that the guest has mapped. Asking the kernel costs more than a short
// call itself, so the answers are kept as long as every descriptor means what it meant.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/trace/format/input.h"
#include "rdbtool/trace/ring/log_producer.h"

#include <array>
#include <map>
#include <memory>
#include <sys/stat.h>

namespace rdb::record {

// A descriptor of rdb's own for a file that the guest has open.
class OwnCopy {
public:
  explicit OwnCopy(int guest_fd);
  ~OwnCopy();
  OwnCopy(const OwnCopy&) = delete;
  OwnCopy& operator=(const OwnCopy&) = delete;
  int fd() const { return fd_; } // -1: there was no room, or no such descriptor

private:
  int fd_;
};

class Descriptors {
public:
  // Notes what standard output and error are now.
  Descriptors();

  struct Facts {
    bool known = false;
    bool mapped = false;       // a file of which some mapping exists
    bool regular = false;      // a file whose calls are over at once
    bool may_be_moved = false; // programs that redirect their output let this number mean another file
    trace::OutputStream stream = trace::OutputStream::none;
    uint32_t file_bit = 0; // trace::FilePart::bit_of() the file
  };
  Facts facts(int fd, const guest::AddressSpace& space);
  // A copy that means the file which the number means now, whatever others make of the number. Kept for the
  // next time as long as the answers are.
  std::shared_ptr<const OwnCopy> copy(int fd);
  // The stream of the file that `open` stands for, which the guest knows as `fd`.
  trace::OutputStream stream(int fd, int open) const;
  // The files of the streams, numbered: both may be one.
  static constexpr size_t kOutputFiles = 3;
  size_t file_of(trace::OutputStream stream) const;

  // For as long as it lives, a thread is in a call that may make a known descriptor mean another file.
  class Change {
  public:
    Change(Descriptors& descriptors, int64_t number);
    ~Change();
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

  private:
    Descriptors* descriptors_ = nullptr; // null: it is no such call
  };
  bool changing() const { return changing_ != 0; }
  // After a call: forgets everything unless all descriptors and mappings are sure to be what they were.
  void after_call(int64_t number);
  // In a forked child: calls of other threads are not there.
  void forget_calls() {
    changing_ = 0;
    copies_.clear();
  }

  static constexpr size_t kRemembered = 256;
  const std::array<Facts, kRemembered>& remembered() const { return remembered_; }

private:
  trace::OutputStream stream_of(int fd, const struct stat& info) const;
  void forget();

  struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0; // 0: not there, or not worth showing
    bool operator==(const FileIdentity&) const = default;
  };
  FileIdentity standard_[3];
  std::array<Facts, kRemembered> remembered_ = {};
  static constexpr size_t kMostCopies = 8;
  std::map<int, std::shared_ptr<const OwnCopy>> copies_;
  bool any_ = false;
  size_t changing_ = 0; // calls
};

} // namespace rdb::record
