// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs name libraries by soname and through links such as /lib, and their dynamic linker by a path of its
// own; the recording names the files themselves. So the tree has all of them.
#include "rdbtool/gdb/replay/sysroot.h"

#include "rdbtool/base/trusted_file.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace rdb::gdb {

namespace {

namespace fs = std::filesystem;

bool same_here(const trace::MappedFile& file) {
  int fd = open(file.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info{};
  // gdb may run scripts that a file names: it reads only those of the user's machine that others cannot
  // change.
  bool same = why_not_trusted(file.path, LastLink::follow).empty();
  same = same && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
         static_cast<uint64_t>(info.st_size) == file.content.size;
  // Without a build-id nothing says that it is the same program.
  same = same && (file.build_id.empty() ? !file.path.ends_with(".so") && trace::build_id_of(fd).empty()
                                        : trace::build_id_of(fd) == file.build_id);
  close(fd);
  return same;
}

template <class T>
bool read_at(int fd, uint64_t offset, T* to, size_t count) {
  auto size = static_cast<ssize_t>(count * sizeof(T));
  return pread(fd, to, static_cast<size_t>(size), static_cast<off_t>(offset)) == size;
}

// None if it is not an ELF file.
std::vector<Elf64_Phdr> segments_of(int fd) {
  Elf64_Ehdr header;
  if (!read_at(fd, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum >= 64)
    return {};
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!read_at(fd, header.e_phoff, segments.data(), segments.size())) return {};
  return segments;
}

// DT_SONAME of a shared library; empty if it has none.
std::string soname(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string name;
  std::vector<Elf64_Phdr> segments = segments_of(fd);
  std::vector<Elf64_Dyn> dynamic;
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz < 65536) {
      dynamic.resize(segment.p_filesz / sizeof(Elf64_Dyn));
      if (!read_at(fd, segment.p_offset, dynamic.data(), dynamic.size())) dynamic.clear();
    }
  uint64_t strings = 0, at = 0;
  for (const Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    if (entry.d_tag == DT_SONAME) at = entry.d_un.d_val;
  }
  for (const Elf64_Phdr& segment : segments)
    if (at != 0 && segment.p_type == PT_LOAD && strings >= segment.p_vaddr &&
        strings < segment.p_vaddr + segment.p_filesz) {
      char text[256] = {};
      ssize_t got = pread(fd, text, sizeof text - 1,
                          static_cast<off_t>(strings - segment.p_vaddr + segment.p_offset + at));
      if (got > 0) name = text;
    }
  close(fd);
  return name;
}

// The dynamic linker that a program asks for; empty if it asks for none.
std::string interpreter(const std::string& path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string name;
  for (const Elf64_Phdr& segment : segments_of(fd)) {
    char text[256] = {};
    if (segment.p_type == PT_INTERP && segment.p_filesz < sizeof text &&
        read_at(fd, segment.p_offset, text, segment.p_filesz))
      name = text;
  }
  close(fd);
  return name;
}

} // namespace

std::string prepare_sysroot(const trace::TraceReader& trace, const std::string& directory) {
  const auto& files = trace.metadata().files;
  bool all_here = true;
  for (const trace::MappedFile& file : files)
    all_here = all_here && (!file.path.starts_with('/') || same_here(file));
  if (all_here) return "/";

  std::error_code ignored; // a link that cannot be made is a library without symbols
  for (const trace::MappedFile& file : files) {
    // A recording may come from elsewhere: its paths must not lead out of the tree.
    fs::path path = fs::path(file.path).lexically_normal();
    if (!path.is_absolute()) continue;
    fs::path link = directory + path.string();
    fs::path stored = fs::absolute(trace.files().path_of(file.content));
    fs::create_directories(link.parent_path(), ignored);
    fs::create_symlink(stored, link, ignored);
    std::string name = soname(stored);
    if (!name.empty() && name.find('/') == name.npos)
      fs::create_symlink(stored, link.parent_path() / name, ignored);
  }
  for (const char* name : {"lib", "lib64", "bin", "sbin"})
    if (fs::exists(fs::path(directory) / "usr" / name) && !fs::exists(fs::path(directory) / name))
      fs::create_directory_symlink(fs::path("usr") / name, fs::path(directory) / name, ignored);
  for (const trace::MappedFile& file : files) {
    fs::path linker = fs::path(interpreter(trace.files().path_of(file.content))).lexically_normal();
    if (!linker.is_absolute() || fs::exists(directory + linker.string())) continue;
    for (const trace::MappedFile& other : files)
      if (fs::path(other.path).filename() == linker.filename()) {
        fs::create_directories(directory + linker.parent_path().string(), ignored);
        fs::create_symlink(fs::absolute(trace.files().path_of(other.content)), directory + linker.string(),
                           ignored);
      }
  }
  return directory;
}

} // namespace rdb::gdb
