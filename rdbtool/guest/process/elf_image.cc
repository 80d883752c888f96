// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/elf_image.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

class File {
public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  bool read_at(uint64_t offset, void* to, size_t size) const {
    return pread(fd_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

private:
  int fd_;
};

int protection_of(const Elf64_Phdr& segment) {
  return (segment.p_flags & PF_R ? PROT_READ : 0) | (segment.p_flags & PF_W ? PROT_WRITE : 0) |
         (segment.p_flags & PF_X ? PROT_EXEC : 0);
}

void check(int64_t result, const std::string& path, const char* what) {
  if (result < 0) user_error("{}: cannot map {}: {}", path, what, std::strerror(static_cast<int>(-result)));
}

// One PT_LOAD: the file's part, then zeroes.
void map_segment(AddressSpace& space, const File& file, const Elf64_Phdr& segment, uint64_t bias,
                 const std::string& path) {
  uint64_t begin = bias + segment.p_vaddr;
  uint64_t file_end = begin + segment.p_filesz;
  uint64_t memory_end = begin + segment.p_memsz;
  int protection = protection_of(segment);
  uint64_t head = begin & (kPage - 1);
  uint64_t zero_from = page_up(file_end);
  if (segment.p_filesz > 0) {
    check(space.mmap(page_down(begin), segment.p_filesz + head, protection, MAP_PRIVATE | MAP_FIXED,
                     file.fd(), segment.p_offset - head),
          path, "a segment");
  } else {
    zero_from = page_down(begin);
  }
  if (memory_end > file_end && segment.p_filesz > 0 && protection & PROT_WRITE) {
    // The rest of the last file page belongs to bss. There is no page where the file was cut off: then the
    // kernel has let go of the old program, and can only kill the new one.
    std::vector<uint8_t> zeroes(std::min(zero_from, page_up(memory_end)) - file_end);
    if (space.write(GuestAddr(file_end), zeroes.data(), zeroes.size()) != zeroes.size())
      throw KilledAtStart(fmt::format("{}: the file is cut off", path));
  }
  if (memory_end > zero_from)
    check(space.mmap(zero_from, memory_end - zero_from, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0),
          path, "its zero-initialised part");
}

// As the kernel sees it before it lets go of the old program; what is no program for this machine for other
// reasons is left to load_image().
int check_headers(const File& file) {
  Elf64_Ehdr header;
  if (!file.read_at(0, header.e_ident, SELFMAG) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return -ENOEXEC;
  if (!file.read_at(0, &header, sizeof header)) return -ENOEXEC;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return 0;
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!file.read_at(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) return -ENOEXEC;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX) continue;
    std::string name(segment.p_filesz, '\0');
    if (!file.read_at(segment.p_offset, name.data(), name.size())) return -EIO;
  }
  return 0;
}

} // namespace

Image load_image(AddressSpace& space, const std::string& path) {
  File file(path);
  if (file.fd() < 0) user_error("{}: {}", path, std::strerror(errno));
  Elf64_Ehdr header;
  if (!file.read_at(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    user_error("{}: not an ELF program", path);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
    limit("{}: only 64-bit x86 programs can be run", path);
  if ((header.e_type != ET_EXEC && header.e_type != ET_DYN) || header.e_phentsize != sizeof(Elf64_Phdr) ||
      header.e_phnum == 0)
    user_error("{}: an ELF file, but not a program", path);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!file.read_at(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr)))
    user_error("{}: cut off in its program headers", path);

  Image image;
  image.path = path;
  image.position_independent = header.e_type == ET_DYN;
  image.header_count = header.e_phnum;
  image.header_size = header.e_phentsize;
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  uint64_t alignment = kPage;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) {
      std::string name(segment.p_filesz, '\0');
      if (segment.p_filesz > 4096 || !file.read_at(segment.p_offset, name.data(), name.size()))
        user_error("{}: unreadable interpreter name", path);
      image.interpreter = name.substr(0, name.find('\0'));
    }
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_memsz < segment.p_filesz || segment.p_vaddr + segment.p_memsz < segment.p_vaddr)
      user_error("{}: malformed program header", path);
    low = std::min(low, page_down(segment.p_vaddr));
    high = std::max(high, segment.p_vaddr + segment.p_memsz);
    alignment = std::max(alignment, segment.p_align);
  }
  if (low >= high) user_error("{}: nothing to load", path);

  if (image.position_independent) {
    uint64_t place = space.place_image(high - low + alignment);
    if (place == 0) limit("{}: larger than {} MiB", path, kImageSpan >> 20);
    image.bias = ((place + alignment - 1) & ~(alignment - 1)) - low;
  } else if (!space.in_guest_range(low, page_up(high))) {
    limit("{}: linked to the fixed addresses {:#x}-{:#x}", path, low, high);
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    map_segment(space, file, segment, image.bias, path);
    if (header.e_phoff >= segment.p_offset && header.e_phoff < segment.p_offset + segment.p_filesz)
      image.headers = image.bias + segment.p_vaddr + (header.e_phoff - segment.p_offset);
  }
  image.entry = image.bias + header.e_entry;
  image.begin = image.bias + low;
  image.end = image.bias + high;
  return image;
}

int resolve_program(const std::string& path, const std::vector<std::string>& argv, Program& out) {
  out.path = path;
  out.argv = argv;
  for (int depth = 0; depth < 5; ++depth) {
    struct stat info;
    if (stat(out.path.c_str(), &info) != 0) return -errno;
    if (!S_ISREG(info.st_mode)) return -EACCES;
    if (access(out.path.c_str(), X_OK) != 0) return -errno;
    File file(out.path);
    if (file.fd() < 0) return -errno;
    char line[256] = {};
    ssize_t n = pread(file.fd(), line, sizeof line - 1, 0);
    if (n < 2) return -ENOEXEC;
    if (line[0] != '#' || line[1] != '!') return check_headers(file);
    // "#!interpreter [one argument]", as fs/binfmt_script.c reads it.
    std::string text(line + 2, std::strcspn(line + 2, "\n"));
    size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string::npos) return -ENOEXEC;
    size_t end = text.find_first_of(" \t", begin);
    std::string interpreter = text.substr(begin, end - begin);
    std::vector<std::string> arguments{interpreter};
    if (end != std::string::npos) {
      size_t from = text.find_first_not_of(" \t", end);
      size_t to = text.find_last_not_of(" \t");
      if (from != std::string::npos) arguments.push_back(text.substr(from, to - from + 1));
    }
    arguments.push_back(out.path);
    if (!out.argv.empty()) arguments.insert(arguments.end(), out.argv.begin() + 1, out.argv.end());
    out.argv = std::move(arguments);
    out.path = interpreter;
  }
  return -ELOOP;
}

} // namespace rdb::guest
