// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See inputs.h.
#include "llvm-passes/link/inputs.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::link {

namespace {

constexpr std::array kSystemLibraries = {"libc",      "libm",           "libmvec",         "libpthread",
                                         "libdl",     "librt",          "libresolv",       "libutil",
                                         "libgcc",    "libgcc_s",       "libgcc_eh",       "libstdc++",
                                         "libsupc++", "libc_nonshared", "ld-linux-x86-64", "libatomic"};

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename();
}

// Quick look: is there a section .rdb? Without reading symbols or contents.
bool carries_payload(std::string_view bytes) {
  if (!elf::is_elf(bytes) || bytes.size() < sizeof(Elf64_Ehdr)) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_type != ET_REL || header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  auto section = [&](uint64_t index, Elf64_Shdr& out) {
    uint64_t at = header.e_shoff + index * sizeof(Elf64_Shdr);
    if (header.e_shoff == 0 || at > bytes.size() || bytes.size() - at < sizeof out) return false;
    std::memcpy(&out, bytes.data() + at, sizeof out);
    return true;
  };
  Elf64_Shdr first, names;
  if (!section(0, first)) return false;
  if (!section(header.e_shstrndx == SHN_XINDEX ? first.sh_link : header.e_shstrndx, names)) return false;
  if (names.sh_offset > bytes.size() || names.sh_size > bytes.size() - names.sh_offset) return false;
  std::string_view table = bytes.substr(names.sh_offset, names.sh_size);
  return table.find(std::string_view("\0.rdb", 5)) != std::string_view::npos ||
         table.find(".rela.rdb") != std::string_view::npos;
}

} // namespace

bool is_system_library(std::string_view name) {
  std::string_view base = name.substr(0, std::min(name.find(".so"), name.find(".a")));
  return std::ranges::find(kSystemLibraries, base) != kSystemLibraries.end() || base.starts_with("libm-") ||
         base.starts_with("libclang_rt.builtins");
}

MappedFile::MappedFile(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat status;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    void* data = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data != MAP_FAILED) {
      data_ = data;
      size_ = static_cast<size_t>(status.st_size);
    }
  }
  close(fd);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

Inputs::Inputs(const Command& command) {
  for (const CommandInput& input : command.inputs())
    add_file(command, input, 0);
}

void Inputs::add_file(const Command& command, const CommandInput& input, int depth) {
  auto file = std::make_shared<MappedFile>(input.path);
  std::string_view bytes = file->bytes();
  if (elf::is_elf(bytes)) {
    if (bytes.size() > sizeof(Elf64_Ehdr) && bytes[offsetof(Elf64_Ehdr, e_type)] == ET_DYN)
      return add_library(input.path, bytes);
    files_.push_back({input.argument, input.path, is_system_library(file_name(input.path)), file, nullptr});
    if (carries_payload(bytes)) add_object(files_.size() - 1, {}, file_name(input.path), bytes);
  } else if (Archive::is_archive(bytes)) {
    files_.push_back({input.argument, input.path, is_system_library(file_name(input.path)), file, nullptr});
    // The runtime's archives are large and never ours.
    if (files_.back().system) return;
    files_.back().archive = std::make_unique<Archive>(bytes, input.path);
    const auto& members = files_.back().archive->members();
    for (size_t i = 0; i < members.size(); ++i)
      if (carries_payload(members[i].bytes))
        add_object(files_.size() - 1, i, file_name(input.path) + "(" + members[i].name + ")",
                   members[i].bytes);
  } else if (!bytes.empty() && bytes.size() < 65536) {
    add_script(command, input, bytes, depth);
  }
}

// GROUP(...), INPUT(...) and AS_NEEDED(...) of a linker script such as libc.so: names of more files. Objects
// with payloads are not looked for there, they would have to be replaced inside the script.
void Inputs::add_script(const Command& command, const CommandInput& input, std::string_view text, int depth) {
  if (depth > 4 || text.find('\0') != std::string_view::npos) return;
  if (text.find("GROUP") == std::string_view::npos && text.find("INPUT") == std::string_view::npos) return;
  std::string word;
  auto use = [&] {
    std::string path;
    if (word.starts_with("-l"))
      path = command.find_library(word.substr(2), true);
    else if (word.find('/') != std::string::npos && !word.starts_with("/*"))
      path = word;
    else if (word.find(".so") != std::string::npos)
      path = command.find_library(":" + word, true);
    if (!path.empty()) {
      MappedFile file(path);
      if (elf::is_elf(file.bytes()) && file.bytes().size() > sizeof(Elf64_Ehdr) &&
          file.bytes()[offsetof(Elf64_Ehdr, e_type)] == ET_DYN)
        add_library(path, file.bytes());
      else if (!elf::is_elf(file.bytes()) && !Archive::is_archive(file.bytes()) &&
               file.bytes().size() < 65536)
        add_script(command, {input.argument, path}, file.bytes(), depth + 1);
    }
    word.clear();
  };
  for (char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) || c == '(' || c == ')' || c == ',')
      use();
    else
      word += c;
  }
  use();
}

void Inputs::add_library(const std::string& path, std::string_view bytes) {
  elf::File library(bytes);
  SharedLibrary found{path, file_name(path), false};
  const elf::Section* dynamic = library.find(".dynamic");
  if (dynamic != nullptr) {
    std::string_view strings = library.section(dynamic->header.sh_link).bytes;
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->bytes.size(); at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, dynamic->bytes.data() + at, sizeof entry);
      if (entry.d_tag == DT_SONAME) found.soname = elf::string_at(strings, entry.d_un.d_val);
    }
  }
  found.system = is_system_library(found.soname);
  for (const SharedLibrary& known : libraries_)
    if (known.path == path) return;
  libraries_.push_back(found);
}

void Inputs::add_object(size_t input, std::optional<size_t> member, const std::string& name,
                        std::string_view bytes) {
  if (!known_.insert({input, member ? *member + 1 : 0}).second) return;
  InputObject object{input, member, name, bytes, {}, {}};
  elf::File file(bytes);
  object.payloads = descriptors::read_payloads(file);
  payload_count_ += object.payloads.size();
  objects_.push_back(std::move(object));
}

void Inputs::add_definers(const std::set<std::string, std::less<>>& names) {
  auto defines_one = [&](std::string_view bytes) {
    if (!elf::is_elf(bytes) || bytes.size() < sizeof(Elf64_Ehdr) ||
        bytes[offsetof(Elf64_Ehdr, e_type)] != ET_REL)
      return false;
    elf::File object(bytes);
    for (const elf::Symbol& symbol : object.symbols())
      if (symbol.global() && symbol.defined() && names.contains(symbol.name)) return true;
    return false;
  };
  for (size_t i = 0; i < files_.size(); ++i) {
    const InputFile& file = files_[i];
    if (file.system) continue;
    if (file.archive == nullptr) {
      if (defines_one(file.file->bytes())) add_object(i, {}, file_name(file.path), file.file->bytes());
      continue;
    }
    std::set<size_t> candidates;
    for (const auto& [symbol, member] : file.archive->index())
      if (names.contains(symbol)) candidates.insert(member);
    for (size_t member : candidates) {
      const ArchiveMember& found = file.archive->members()[member];
      if (defines_one(found.bytes))
        add_object(i, member, file_name(file.path) + "(" + found.name + ")", found.bytes);
    }
  }
}

std::map<size_t, std::string> Inputs::write_questions(const std::string& folder) const {
  std::map<size_t, std::map<size_t, std::string>> members; // by file
  std::map<size_t, std::string> contents;                  // by file
  for (const InputObject& object : objects_) {
    if (object.questions.empty()) continue;
    std::string copy = with_questions(elf::File(object.bytes), object.questions);
    if (object.member)
      members[object.input][*object.member] = std::move(copy);
    else
      contents[object.input] = std::move(copy);
  }
  for (const auto& [file, replaced] : members)
    contents[file] = files_[file].archive->with_members(replaced);

  std::map<size_t, std::string> paths;
  for (const auto& [file, content] : contents) {
    // The name stays: linker scripts and --exclude-libs look at it.
    std::string place = folder + "/" + std::to_string(file);
    std::filesystem::create_directory(place);
    std::string path = place + "/" + file_name(files_[file].path);
    std::ofstream out(path, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) user_error("cannot write '{}'", path);
    paths[files_[file].argument] = path;
  }
  return paths;
}

} // namespace rdb::link
