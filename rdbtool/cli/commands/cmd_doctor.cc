// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb doctor: looks at this machine and says what will work on it.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/replay/confinement.h"
#include "rdbtool/trace/format/metadata.h"
#include "rdbtool/trace/trace_dir.h"

#include <array>
#include <cpuid.h>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <linux/perf_event.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

enum class Verdict : uint8_t { good, partly, bad };

struct Finding {
  Verdict verdict;
  std::string what;
  std::string detail;
};

// The first line that a program prints for --version; nothing if it cannot be run.
std::string version_of(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    execlp(program.c_str(), program.c_str(), "--version", nullptr);
    _exit(kExitFailure);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> part;
  for (ssize_t size; (size = read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(size));
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return text.substr(0, text.find('\n'));
}

Finding kernel() {
  utsname name;
  uname(&name);
  return {Verdict::good, "kernel", fmt::format("{} {}", name.sysname, name.release)};
}

Finding cpu() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  bool avx2 = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
  // The kernel says in bit 1 of AT_HWCAP2 whether programs may set FS and GS themselves.
  bool fsgsbase = getauxval(AT_HWCAP2) & 2;
  std::string detail = fmt::format("{}, AVX2 {}, fsgsbase {}", trace::CpuInfo::of_this_machine().vendor,
                                   avx2 ? "yes" : "no", fsgsbase ? "yes" : "no");
  return {fsgsbase ? Verdict::good : Verdict::bad, "processor", detail};
}

Finding engine() {
  if (access("/bin/true", X_OK) != 0)
    return {Verdict::partly, "engine", "not tried: there is no /bin/true here"};
  pid_t child = fork();
  if (child == 0) {
    // Silently: the report says enough.
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    std::vector<const char*> words;
    for (const std::string& word : guest::self().words)
      words.push_back(word.c_str());
    words.insert(words.end(), {"run", "--", "/bin/true", nullptr});
    execv("/proc/self/exe", const_cast<char**>(words.data()));
    _exit(kExitFailure);
  }
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  if (status == 0) return {Verdict::good, "engine", "runs /bin/true"};
  return {Verdict::bad, "engine", "cannot run /bin/true; 'rdb run -- /bin/true' says why"};
}

Finding recordings() {
  std::string root = trace::trace_root();
  std::filesystem::path existing = root;
  while (!existing.empty() && !std::filesystem::exists(existing))
    existing = existing.parent_path();
  struct statvfs info;
  if (statvfs(existing.c_str(), &info) != 0 || access(existing.c_str(), W_OK) != 0)
    return {Verdict::bad, "recordings",
            fmt::format("{} cannot be written to; set RDB_TRACE_DIR", existing.string())};
  double free_gib =
      static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / (1024.0 * 1024 * 1024);
  return {free_gib < 1 ? Verdict::partly : Verdict::good, "recordings",
          fmt::format("in {}, {:.1f} GiB free", root, free_gib)};
}

Finding mappings() {
  long count = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> count;
  if (count >= 65530) return {Verdict::good, "mappings", fmt::format("up to {} a process", count)};
  return {Verdict::partly, "mappings",
          fmt::format("only {} a process: large programs may fail; raise vm.max_map_count", count)};
}

Finding addresses() {
  const guest::HostPlace usual;
  if (guest::host_place.low_begin == usual.low_begin && guest::host_place.high_begin == usual.high_begin)
    return {Verdict::good, "addresses", "rdb lies where programs do not ask for memory"};
  return {
      Verdict::partly, "addresses",
      fmt::format("rdb lies at {:#x} and from {:#x} on: programs with sanitizers may find their places taken "
                  "(vm.mmap_rnd_bits and the legacy layout move it)",
                  guest::host_place.low_begin, guest::host_place.high_begin)};
}

Finding hardware_watchpoints() {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = 2; // writes
  attributes.bp_addr = reinterpret_cast<uint64_t>(&attributes);
  attributes.bp_len = 8;
  attributes.exclude_kernel = 1;
  attributes.sample_period = 1;
  attributes.sigtrap = 1;
  attributes.remove_on_exec = 1;
  auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0)
    return {Verdict::good, "watchpoints",
            "by the engine; the kernel grants no hardware breakpoints, none are needed"};
  close(fd);
  return {Verdict::good, "watchpoints",
          "by the engine; few small ranges by hardware breakpoints, which the kernel grants"};
}

Finding confinement() {
  pid_t child = fork();
  if (child == 0) _exit(replay::confine({}) ? 0 : 1);
  int status = -1;
  if (child > 0) waitpid(child, &status, 0);
  if (status == 0) return {Verdict::good, "confinement", "replays without debug code can change nothing"};
  return {Verdict::partly, "confinement",
          "not possible here (no seccomp): replay only recordings of people whom you trust"};
}

Finding gdb() {
  std::string version = version_of("gdb");
  if (version.empty()) return {Verdict::partly, "gdb", "not found: 'rdb gdb' needs it (Debian: gdb)"};
  return {Verdict::good, "gdb", version};
}

Finding compiler() {
  std::filesystem::path own = std::filesystem::path(guest::self().program).parent_path() / "rdb-clang";
  if (!std::filesystem::exists(own))
    return {Verdict::partly, "rdb-clang",
            "not installed: record, replay, gdb and events work, debug regions do not"};
  std::string version = version_of(own.string());
  if (version.empty())
    return {Verdict::bad, "rdb-clang", "does not run: are clang-22 and its libraries installed?"};
  return {Verdict::good, "rdb-clang", version};
}

int examine() {
  int status = 0;
  for (const Finding& finding : {kernel(), cpu(), engine(), recordings(), mappings(), addresses(),
                                 hardware_watchpoints(), confinement(), gdb(), compiler()}) {
    const char* mark = finding.verdict == Verdict::good     ? "ok"
                       : finding.verdict == Verdict::partly ? "--"
                                                            : "BAD";
    fmt::print("{:<4} {:<12} {}\n", mark, finding.what, finding.detail);
    if (finding.verdict == Verdict::bad) status = 1;
  }
  return status;
}

} // namespace

Action setup_doctor(CommandOptions& command) {
  command.footer("'ok' works, '--' works in part, 'BAD' does not; the status is 1 if something is bad.");
  return examine;
}

} // namespace rdb::cli
