// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that a user asked rdb to write. The problem: writing in place leaves half a file when the disk is
// full, and a rename over whatever stands there would replace a device or a pipe by a file. So a regular file
// is written under another name, which nobody can have prepared, and renamed when it is complete; everything
// else (a device, a pipe, a link) is written to as it is.
#pragma once

#include "rdbtool/base/owned_fd.h"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace rdb {

class OutputFile {
public:
  // `mode` is what a new file gets, less the umask; one that replaces a file gets no more than that one had.
  // Throws std::system_error that names the path.
  explicit OutputFile(std::string path, mode_t mode = 0666);
  // Takes a file that was not finished away again.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Closes the file and puts it in its place. Throws std::system_error.
  void finish();

private:
  std::string path_;
  std::string fresh_; // its name until it is finished; empty if it is written in place
  OwnedFd fd_;
};

// All of it in one go: readers see the old file or the new one. Throws std::system_error.
void write_output(const std::string& path, std::string_view text, mode_t mode = 0666);

// What OutputFile appends to the name of a file while it is written: this and six letters or digits.
inline constexpr std::string_view kUnfinished = ".new-";

} // namespace rdb
