// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads `ar` archives (also thin ones, whose members are files of their own), and writes a copy in which some
// members are replaced. Order and names of the members and the index of symbols stay, so that a linker takes
// the same members from the copy.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::link {

struct ArchiveMember {
  std::string name;
  std::string_view bytes;
};

class Archive {
public:
  static bool is_archive(std::string_view bytes);

  // Throws elf::Error if the archive is damaged or a thin archive's member cannot be read.
  Archive(std::string_view bytes, const std::string& path);

  const std::vector<ArchiveMember>& members() const { return members_; }
  // Symbols of the archive's index and the member that defines each; empty if it has no index.
  const std::multimap<std::string_view, size_t>& index() const { return index_; }

  // A plain archive with the members given by number replaced.
  std::string with_members(const std::map<size_t, std::string>& replaced) const;

private:
  void read_index(std::string_view table, size_t word, const std::map<uint64_t, size_t>& by_offset);

  std::vector<ArchiveMember> members_;
  std::multimap<std::string_view, size_t> index_;
  std::vector<std::pair<std::string_view, size_t>> index_order_;
  std::vector<std::string> loaded_; // members of a thin archive
};

} // namespace rdb::link
