// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/proc_identity.h"

#include "rdbtool/guest/host/own_executable.h"

#include <cstdlib>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <linux/limits.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace rdb::guest {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Numbered as in proc(5), from 1; the second is the name in parentheses.
std::vector<uint64_t> stat_fields() {
  std::string text = contents("/proc/self/stat");
  size_t name_end = text.rfind(')');
  std::vector<uint64_t> fields(4);
  if (name_end == std::string::npos) return fields;
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  rest >> state;
  // Negative ones come out as large numbers.
  for (uint64_t field; rest >> field;)
    fields.push_back(field);
  return fields;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

} // namespace

std::optional<prctl_mm_map> shown_in_proc() {
  std::vector<uint64_t> fields = stat_fields();
  constexpr size_t kFields = 52;
  if (fields.size() < kFields) return std::nullopt;
  prctl_mm_map map = {};
  map.start_code = fields[26];
  map.end_code = fields[27];
  map.start_data = fields[45];
  map.end_data = fields[46];
  map.start_brk = fields[47];
  map.brk = reinterpret_cast<uint64_t>(sbrk(0)); // nothing is allocated from here on
  map.start_stack = fields[28];
  map.arg_start = fields[48];
  map.arg_end = fields[49];
  map.env_start = fields[50];
  map.env_end = fields[51];
  map.exe_fd = UINT32_MAX;
  return map;
}

void show_in_proc(const StackImage& stack) {
  self(); // reads rdb's own command, which cannot be read any more after this
  std::optional<prctl_mm_map> shown = shown_in_proc();
  if (!shown) return;
  prctl_mm_map& map = *shown;
  map.arg_start = stack.arguments;
  map.arg_end = stack.arguments_end;
  map.env_start = stack.environment;
  map.env_end = stack.environment_end;
  map.auxv = reinterpret_cast<__u64*>(stack.auxv);
  map.auxv_size = static_cast<uint32_t>(stack.auxv_size);
  // A kernel that refuses shows rdb's own, which does no harm.
  prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
}

std::string shown_name(const std::string& program) {
  if (!program.starts_with("/proc/self/fd/")) return program;
  char target[PATH_MAX];
  ssize_t n = readlink(program.c_str(), target, sizeof target);
  return n > 0 ? std::string(target, static_cast<size_t>(n)) : program;
}

std::optional<std::string> program_of_other(int pid) {
  std::string folder = fmt::format("/proc/{}/", pid);
  struct stat own;
  struct stat other;
  if (stat("/proc/self/exe", &own) != 0 || stat((folder + "exe").c_str(), &other) != 0 ||
      !same_file(own, other))
    return std::nullopt;
  std::string auxv = contents(folder + "auxv");
  uint64_t headers = 0;
  for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= auxv.size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry;
    auxv.copy(reinterpret_cast<char*>(&entry), sizeof entry, at);
    if (entry.a_type == AT_PHDR) headers = entry.a_un.a_val;
  }
  // The file in which the program's headers lie.
  std::istringstream maps(contents(folder + "maps"));
  for (std::string line; std::getline(maps, line);) {
    char* dash = nullptr;
    uint64_t begin = std::strtoull(line.c_str(), &dash, 16);
    if (*dash != '-') continue;
    uint64_t end = std::strtoull(dash + 1, nullptr, 16);
    if (headers < begin || headers >= end) continue;
    size_t name = line.find('/');
    if (name != std::string::npos) return line.substr(name);
  }
  return std::nullopt;
}

} // namespace rdb::guest
