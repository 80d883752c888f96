// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that a user asked rdb to write. The problem: writing in place leaves half a file when the disk is
// full, and a rename over whatever stands there would replace a device or a pipe by a file. So a regular file
// is written under another name, which nobody can have prepared, and renamed when it is complete; everything
// else (a device, a pipe, a link) is written to as it is.
#pragma once

#include "rdbtool/base/owned_fd.h"
#include "rdbtool/base/remover.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <system_error>

namespace rdb {

// What takes an unfinished file away: its owner, or another process if a signal ends that. The second is for
// what takes a while.
enum class Unfinished : uint8_t { by_owner, by_remover };

class OutputFile {
public:
  // `mode` is what a new file gets, less the umask; one that replaces a file gets no more than that one had.
  // Throws std::system_error that names the path.
  explicit OutputFile(std::string path, mode_t mode = 0666, Unfinished removed = Unfinished::by_owner);
  // Takes a file that was not finished away again.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Closes the file and puts it in its place. Throws std::system_error.
  void finish();

private:
  // Make the file under another name; without fd_ if that has failed, and errno says why.
  void make_fresh();
  void make_with_remover();

  std::string path_;
  std::unique_ptr<Remover> remover_;
  std::string fresh_; // its name until it is finished; empty if it is written in place
  OwnedFd fd_;
};

// All of it in one go: readers see the old file or the new one. Throws std::system_error.
void write_output(const std::string& path, std::string_view text, mode_t mode = 0666);

// What a user is told when such a file could not be written. A path that cannot be opened is a mistake (a
// UserError); with a disk that has no room nothing is wrong that was asked for.
[[noreturn]] void output_failed(const std::string& command, const std::system_error& error);

// What OutputFile appends to the name of a file while it is written: this and six letters or digits.
inline constexpr std::string_view kUnfinished = ".new-";

} // namespace rdb
