// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files a guest mapped, kept inside the trace under their hash. They are reflinked where the file system
// can and copied elsewhere, never hard-linked: the user rebuilds programs in place, and a link would rewrite
// the trace.
#pragma once

#include "rdbtool/trace/format/input.h"

#include <map>
#include <string>
#include <vector>

namespace rdb::trace {

std::string
to_string(const ContentId& id); // "<hash, 16 digits>-<size>", in hex: the file's name in the store
// The inverse. False if it is no such name.
bool parse_content_id(std::string_view text, ContentId& id);

// Whether the file behind `fd` is the one that has this id. `name` is for messages.
bool has_content(int fd, const std::string& name, const ContentId& id);

class ContentStore {
public:
  // `directory` is made when the first file is added.
  explicit ContentStore(std::string directory);

  // Copies a regular file into the store unless it is there. A file seen before, unchanged by its (device,
  // inode, size, mtime, ctime), is not read again. Throws std::system_error if it cannot be read or written,
  // UserError if it is not a regular file.
  ContentId add(int fd);

  // A read-only descriptor on the stored copy, whose bytes have been checked against the id.
  // Throws UserError naming the file if it is missing or changed.
  int open(const ContentId& id) const;

  std::string path_of(const ContentId& id) const;
  // Everything in the store, sorted.
  std::vector<ContentId> list() const;

private:
  struct FileVersion {
    uint64_t device, inode, size, mtime_ns, ctime_ns;
    auto operator<=>(const FileVersion&) const = default;
  };
  std::string directory_;
  std::map<FileVersion, ContentId> seen_;
};

// The build-id of an ELF file, in hex; empty if it has none or is no ELF file.
std::string build_id_of(int fd);

} // namespace rdb::trace
