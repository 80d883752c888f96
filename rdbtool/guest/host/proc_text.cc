// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/proc_text.h"

#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/process/loaded_program.h"
#include "rdbtool/guest/process/machine.h"

#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <vector>

namespace rdb::guest {
namespace {

constexpr size_t kNameColumn = 73;

// The kernel's text about this process, host and guest together.
std::string own_text(std::string_view name) {
  std::string path = fmt::format("/proc/thread-self/{}", name);
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  if (fd < 0) return text;
  char part[4096];
  for (ssize_t n; (n = read(fd, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  close(fd);
  return text;
}

std::string guest_bytes(Machine& machine, uint64_t begin, uint64_t end) {
  std::string bytes(end - begin, '\0');
  bytes.resize(machine.space().read(GuestAddr(begin), bytes.data(), bytes.size()));
  return bytes;
}

// The kernel shows neighbours of one kind as one.
bool continues(const Mapping& before, const Mapping& after) {
  return before.end == after.begin && before.protection == after.protection && before.flags == after.flags &&
         before.name == after.name && before.inode == after.inode && before.device == after.device &&
         continues_content(before, after);
}

std::vector<Mapping> shown_mappings(const Machine& machine) {
  std::vector<Mapping> result;
  for (const auto& [begin, mapping] : machine.space().mappings()) {
    if (!result.empty() && continues(result.back(), mapping))
      result.back().end = mapping.end;
    else
      result.push_back(mapping);
  }
  return result;
}

std::string maps(const Machine& machine) {
  std::string text;
  for (const Mapping& m : shown_mappings(machine)) {
    bool anonymous = m.flags & MAP_ANONYMOUS;
    std::string line =
        fmt::format("{:08x}-{:08x} {}{}{}{} {:08x} {:02x}:{:02x} {} ", m.begin, m.end,
                    m.protection & PROT_READ ? 'r' : '-', m.protection & PROT_WRITE ? 'w' : '-',
                    m.protection & PROT_EXEC ? 'x' : '-', m.flags & MAP_SHARED ? 's' : 'p',
                    anonymous ? 0 : m.offset, major(m.device), minor(m.device), m.inode);
    if (!m.name.empty()) {
      if (line.size() < kNameColumn) line.resize(kNameColumn, ' ');
      line += m.name;
    }
    text += line + "\n";
  }
  return text;
}

// Arguments as they are now: a program may have changed them to show a title, and let it run on into the
// environment.
std::string command_line(Machine& machine, const StackImage& stack) {
  std::string text = guest_bytes(machine, stack.arguments, stack.arguments_end);
  if (!text.empty() && text.back() != '\0') {
    text += guest_bytes(machine, stack.environment, stack.environment_end);
    text.resize(std::strlen(text.c_str()));
  }
  return text;
}

struct Sizes { // in bytes
  uint64_t total = 0, data = 0, stack = 0, program = 0, libraries = 0;
};

Sizes sizes(const Machine& machine) {
  Sizes result;
  for (const auto& [begin, m] : machine.space().mappings()) {
    uint64_t size = m.end - m.begin;
    result.total += size;
    if (m.name == "[stack]")
      result.stack += size;
    else if (m.flags & MAP_PRIVATE && m.protection & PROT_WRITE)
      result.data += size;
    else if (m.protection & PROT_EXEC)
      (m.name == machine.identity().program ? result.program : result.libraries) += size;
  }
  return result;
}

struct SignalSets {
  uint64_t ignored = 0, caught = 0;
};

SignalSets signal_sets(const Machine& machine) {
  SignalSets result;
  for (int signal = 1; signal <= 64; ++signal) {
    uint64_t handler = machine.action(signal).handler;
    uint64_t bit = 1ull << (signal - 1);
    if (handler == reinterpret_cast<uint64_t>(SIG_IGN))
      result.ignored |= bit;
    else if (handler != reinterpret_cast<uint64_t>(SIG_DFL))
      result.caught |= bit;
  }
  return result;
}

// Fields are numbered as in proc(5), from 1; the second is the name in parentheses.
std::string stat_line(const Machine& machine, const LoadedProgram& program) {
  std::string text = own_text("stat");
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return text;
  std::istringstream rest(text.substr(name_end + 1));
  std::vector<std::string> fields(3);
  for (std::string field; rest >> field;)
    fields.push_back(field);
  const StackImage& stack = program.stack;
  const Image& image = program.image;
  SignalSets signals = signal_sets(machine);
  auto put = [&](size_t number, uint64_t value) {
    if (number < fields.size()) fields[number] = std::to_string(value);
  };
  put(23, sizes(machine).total);
  put(26, image.begin);
  put(27, image.end);
  put(28, stack.pointer);
  put(29, 0);
  put(30, 0);
  put(32, machine.mask() & 0x7FFFFFFF);
  put(33, signals.ignored & 0x7FFFFFFF);
  put(34, signals.caught & 0x7FFFFFFF);
  put(45, image.begin);
  put(46, image.end);
  put(47, machine.space().brk_begin());
  put(48, stack.arguments);
  put(49, stack.arguments_end);
  put(50, stack.environment);
  put(51, stack.environment_end);
  std::string result = text.substr(0, name_end + 1);
  for (size_t i = 3; i < fields.size(); ++i)
    result += " " + fields[i];
  return result + "\n";
}

std::string statm(const Machine& machine) {
  uint64_t resident = 0;
  uint64_t shared = 0;
  std::istringstream(own_text("statm")) >> resident >> resident >> shared;
  Sizes size = sizes(machine);
  return fmt::format("{} {} {} {} 0 {} 0\n", size.total / kPage, resident, shared, size.program / kPage,
                     (size.data + size.stack) / kPage);
}

std::string status(const Machine& machine) {
  Sizes size = sizes(machine);
  SignalSets signals = signal_sets(machine);
  auto kilobytes = [](uint64_t bytes) { return fmt::format("{:8} kB", bytes / 1024); };
  const std::pair<std::string_view, std::string> ours[] = {
      {"VmPeak", kilobytes(size.total)},
      {"VmSize", kilobytes(size.total)},
      {"VmData", kilobytes(size.data)},
      {"VmStk", kilobytes(size.stack)},
      {"VmExe", kilobytes(size.program)},
      {"VmLib", kilobytes(size.libraries)},
      {"SigBlk", fmt::format("{:016x}", machine.mask())},
      {"SigIgn", fmt::format("{:016x}", signals.ignored)},
      {"SigCgt", fmt::format("{:016x}", signals.caught)},
  };
  std::string result;
  std::istringstream lines(own_text("status"));
  for (std::string line; std::getline(lines, line);) {
    std::string_view key = std::string_view(line).substr(0, line.find(':'));
    for (const auto& [name, value] : ours)
      if (key == name) {
        line = fmt::format("{}:\t{}", name, value);
        break;
      }
    result += line + "\n";
  }
  return result;
}

std::string limits(const GuestLimits& kept) {
  std::string result;
  std::istringstream lines(own_text("limits"));
  const std::pair<std::string_view, int> ours[] = {
      {"Max data size", RLIMIT_DATA}, {"Max stack size", RLIMIT_STACK}, {"Max address space", RLIMIT_AS}};
  auto value = [](rlim_t limit) {
    return limit == RLIM_INFINITY ? std::string("unlimited") : std::to_string(limit);
  };
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [name, resource] : ours)
      if (line.starts_with(name)) {
        const rlimit& limit = kept.get(resource);
        line = fmt::format("{:<25} {:<20} {:<20} {:<10}", name, value(limit.rlim_cur), value(limit.rlim_max),
                           "bytes");
      }
    result += line + "\n";
  }
  return result;
}

} // namespace

std::optional<std::string> proc_text(Machine& machine, const LoadedProgram& program, const GuestLimits& kept,
                                     std::string_view name) {
  const StackImage& stack = program.stack;
  if (name == "maps") return maps(machine);
  if (name == "cmdline") return command_line(machine, stack);
  if (name == "environ") return guest_bytes(machine, stack.environment, stack.environment_end);
  if (name == "auxv") return guest_bytes(machine, stack.auxv, stack.auxv + stack.auxv_size);
  if (name == "stat") return stat_line(machine, program);
  if (name == "statm") return statm(machine);
  if (name == "status") return status(machine);
  if (name == "limits") return limits(kept);
  return std::nullopt;
}

} // namespace rdb::guest
