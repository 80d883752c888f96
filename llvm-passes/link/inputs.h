// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files of a link, opened: every object (also inside archives) with the payloads that it carries, and
// every shared library.
#pragma once

#include "descriptors/payload.h"
#include "llvm-passes/link/archive.h"
#include "llvm-passes/link/command.h"
#include "llvm-passes/link/scratch_object.h"

#include <memory>
#include <optional>
#include <set>

namespace rdb::link {

// A file mapped into memory.
class MappedFile {
public:
  explicit MappedFile(const std::string& path); // empty if it cannot be read
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

// An object that takes part in the link, or could: members of archives are taken only if needed.
struct InputObject {
  size_t input;                 // number of the file it is in
  std::optional<size_t> member; // in an archive
  std::string name;             // "a.o" or "lib.a(a.o)"
  std::string_view bytes;
  std::vector<descriptors::CarriedPayload> payloads;
  std::vector<Question> questions;
};

struct InputFile {
  size_t argument; // of the command
  std::string path;
  bool system; // part of the C or C++ runtime: libc.a, libgcc.a ...
  std::shared_ptr<MappedFile> file;
  std::unique_ptr<Archive> archive;
};

struct SharedLibrary {
  std::string path;
  std::string soname;
  bool system;
};

class Inputs {
public:
  explicit Inputs(const Command& command);

  // Does any object carry a payload? Nothing else is needed if not.
  bool have_payloads() const { return payload_count_ != 0; }

  std::vector<InputObject>& objects() { return objects_; }
  const std::vector<InputFile>& files() const { return files_; }
  const std::vector<SharedLibrary>& libraries() const { return libraries_; }

  // Opens the objects without payloads that define one of the names (system archives are not searched).
  void add_definers(const std::set<std::string, std::less<>>& names);

  // Copies of the files whose objects have questions, in `folder`; by argument of the command.
  std::map<size_t, std::string> write_questions(const std::string& folder) const;

private:
  void add_file(const Command& command, const CommandInput& input, int depth);
  void add_object(size_t input, std::optional<size_t> member, const std::string& name,
                  std::string_view bytes);
  void add_library(const std::string& path, std::string_view bytes);
  void add_script(const Command& command, const CommandInput& input, std::string_view text, int depth);

  std::vector<InputFile> files_;
  std::vector<InputObject> objects_;
  std::vector<SharedLibrary> libraries_;
  std::set<std::pair<size_t, size_t>> known_; // (file, member + 1) already in objects_
  size_t payload_count_ = 0;
};

// The libraries that make up the C and C++ runtime, by file name: libc.so.6, libstdc++.a ...
bool is_system_library(std::string_view file_name);

} // namespace rdb::link
