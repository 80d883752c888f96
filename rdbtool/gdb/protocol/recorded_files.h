// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files that gdb opens through the connection: the program and its libraries as they were recorded, and
// the few files of /proc from which gdb learns about a Linux process. Nothing of this machine's file system
// is ever handed out.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <map>
#include <memory>
#include <string>

namespace rdb::gdb {

class RecordedFiles {
public:
  explicit RecordedFiles(Target& target) : target_(target) {}

  // Answers to vFile packets, as they go on the wire.
  std::string open(const std::string& path, uint64_t flags);
  std::string read(uint64_t file, uint64_t count, uint64_t offset);
  std::string stat(uint64_t file);
  std::string close(uint64_t file);
  std::string read_link(const std::string& path);

private:
  std::unique_ptr<RecordedFile> find(const std::string& path);

  Target& target_;
  std::map<uint64_t, std::unique_ptr<RecordedFile>> open_;
  uint64_t next_ = 1;
};

// The file behind a descriptor, which it closes at its end.
std::unique_ptr<RecordedFile> file_of(int fd);

// /proc/PID/maps, as the kernel would show it.
std::string maps_text(const std::vector<MemoryRegion>& mappings);

} // namespace rdb::gdb
