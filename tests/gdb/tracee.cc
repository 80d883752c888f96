// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ptrace calls, wrapped one by one.
#include "tests/gdb/tracee.h"

#include "rdbtool/base/error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::gdb {

namespace {

constexpr size_t kImageSize = 832; // up to the end of AVX

void check(long result, const char* what) {
  if (result < 0) bug("{}: {}", what, strerror(errno));
}

Bytes file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The value of a symbol in .symtab, and the file's entry point.
std::pair<uint64_t, uint64_t> find_symbol(const std::string& path, const std::string& symbol) {
  Bytes file = file_bytes(path);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + sections[i].sh_offset);
    const char* names = reinterpret_cast<const char*>(file.data() + sections[sections[i].sh_link].sh_offset);
    for (size_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k)
      if (symbol == names + symbols[k].st_name) return {symbols[k].st_value, header->e_entry};
  }
  user_error("{}: no symbol {}", path, symbol);
}

} // namespace

Tracee::Tracee(const std::vector<std::string>& argv, const std::string& function) : program_(argv.at(0)) {
  auto [symbol, entry] = find_symbol(program_, function);
  std::vector<char*> words;
  for (const std::string& word : argv)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  char* environment[] = {const_cast<char*>("LC_ALL=C"), nullptr};
  pid_ = fork();
  check(pid_, "fork");
  if (pid_ == 0) {
    personality(ADDR_NO_RANDOMIZE);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execve(words[0], words.data(), environment);
    _exit(127);
  }
  int status = 0;
  check(waitpid(pid_, &status, 0), "waitpid");
  if (!WIFSTOPPED(status)) user_error("{} cannot be run", program_);
  check(ptrace(PTRACE_SETOPTIONS, pid_, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE), "PTRACE_SETOPTIONS");
  memory_ = open(fmt::format("/proc/{}/mem", pid_).c_str(), O_RDWR | O_CLOEXEC);
  check(memory_, "/proc/PID/mem");
  run_to(load_base() + (symbol - entry));
}

Tracee::~Tracee() {
  if (memory_ >= 0) close(memory_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    int status;
    while (waitpid(-1, &status, __WALL | WNOHANG) > 0) {
    }
    waitpid(pid_, &status, __WALL);
  }
}

// Where the entry point is, from the auxiliary vector.
GuestAddr Tracee::load_base() const {
  Bytes vector = auxv();
  for (size_t i = 0; i + sizeof(Elf64_auxv_t) <= vector.size(); i += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t item;
    std::memcpy(&item, &vector[i], sizeof item);
    if (item.a_type == AT_ENTRY) return GuestAddr(item.a_un.a_val);
  }
  bug("no AT_ENTRY");
}

void Tracee::run_to(GuestAddr address) {
  ThreadId thread(pid_);
  std::byte old, trap{0xcc};
  read(address, std::span(&old, 1));
  write(address, std::span(&trap, 1));
  int status = resume(thread, 0);
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) user_error("{} ended early", program_);
  write(address, std::span(&old, 1));
  ThreadRegisters at = registers(thread);
  at.rip = address.value;
  set_registers(thread, at);
}

int Tracee::wait(ThreadId thread) {
  int status = 0;
  while (waitpid(thread.value, &status, __WALL) < 0)
    if (errno != EINTR) bug("waitpid: {}", strerror(errno));
  return status;
}

bool Tracee::poll(ThreadId thread, int& status) {
  return waitpid(thread.value, &status, __WALL | WNOHANG) == thread.value;
}

void Tracee::start_step(ThreadId thread, int signal) {
  check(ptrace(PTRACE_SINGLESTEP, thread.value, 0, signal), "PTRACE_SINGLESTEP");
}

int Tracee::step(ThreadId thread, int signal) {
  start_step(thread, signal);
  return wait(thread);
}

int Tracee::resume(ThreadId thread, int signal) {
  check(ptrace(PTRACE_CONT, thread.value, 0, signal), "PTRACE_CONT");
  return wait(thread);
}

ThreadRegisters Tracee::registers(ThreadId thread) const {
  user_regs_struct regs;
  check(ptrace(PTRACE_GETREGS, thread.value, 0, &regs), "PTRACE_GETREGS");
  ThreadRegisters out;
  out.gpr = {regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi,
             regs.r8,  regs.r9,  regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15};
  out.rip = regs.rip;
  out.rflags = regs.eflags & ~uint64_t{0x100}; // the trap flag is ours
  out.fs_base = regs.fs_base;
  out.gs_base = regs.gs_base;
  out.orig_rax = regs.orig_rax;
  out.cs = static_cast<uint16_t>(regs.cs);
  out.ss = static_cast<uint16_t>(regs.ss);
  out.ds = static_cast<uint16_t>(regs.ds);
  out.es = static_cast<uint16_t>(regs.es);
  out.fs = static_cast<uint16_t>(regs.fs);
  out.gs = static_cast<uint16_t>(regs.gs);
  std::byte image[16384];
  iovec where{image, sizeof image};
  check(ptrace(PTRACE_GETREGSET, thread.value, NT_X86_XSTATE, &where), "PTRACE_GETREGSET");
  out.vectors.assign(image, image + std::min(where.iov_len, kImageSize));
  return out;
}

void Tracee::set_registers(ThreadId thread, const ThreadRegisters& in) {
  user_regs_struct regs;
  check(ptrace(PTRACE_GETREGS, thread.value, 0, &regs), "PTRACE_GETREGS");
  const auto& g = in.gpr;
  regs.rax = g[0], regs.rcx = g[1], regs.rdx = g[2], regs.rbx = g[3];
  regs.rsp = g[4], regs.rbp = g[5], regs.rsi = g[6], regs.rdi = g[7];
  regs.r8 = g[8], regs.r9 = g[9], regs.r10 = g[10], regs.r11 = g[11];
  regs.r12 = g[12], regs.r13 = g[13], regs.r14 = g[14], regs.r15 = g[15];
  regs.rip = in.rip;
  regs.eflags = in.rflags;
  regs.fs_base = in.fs_base;
  regs.gs_base = in.gs_base;
  regs.orig_rax = in.orig_rax;
  check(ptrace(PTRACE_SETREGS, thread.value, 0, &regs), "PTRACE_SETREGS");
  std::byte image[16384];
  iovec where{image, sizeof image};
  check(ptrace(PTRACE_GETREGSET, thread.value, NT_X86_XSTATE, &where), "PTRACE_GETREGSET");
  std::memcpy(image, in.vectors.data(), std::min(in.vectors.size(), where.iov_len));
  check(ptrace(PTRACE_SETREGSET, thread.value, NT_X86_XSTATE, &where), "PTRACE_SETREGSET");
}

std::array<std::byte, 128> Tracee::siginfo(ThreadId thread) const {
  std::array<std::byte, 128> info{};
  check(ptrace(PTRACE_GETSIGINFO, thread.value, 0, info.data()), "PTRACE_GETSIGINFO");
  return info;
}

ThreadId Tracee::new_thread(ThreadId creator) const {
  unsigned long id = 0;
  check(ptrace(PTRACE_GETEVENTMSG, creator.value, 0, &id), "PTRACE_GETEVENTMSG");
  return ThreadId(static_cast<int32_t>(id));
}

std::string Tracee::name(ThreadId thread) const {
  std::ifstream in(fmt::format("/proc/{}/task/{}/comm", pid_, thread.value));
  std::string text;
  std::getline(in, text);
  return text;
}

size_t Tracee::read(GuestAddr from, std::span<std::byte> to) const {
  ssize_t count = pread(memory_, to.data(), to.size(), static_cast<off_t>(from.value));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

size_t Tracee::write(GuestAddr to, std::span<const std::byte> from) {
  ssize_t count = pwrite(memory_, from.data(), from.size(), static_cast<off_t>(to.value));
  return count < 0 ? 0 : static_cast<size_t>(count);
}

std::vector<MemoryRegion> Tracee::mappings() const {
  std::vector<MemoryRegion> all;
  std::ifstream in(fmt::format("/proc/{}/maps", pid_));
  for (std::string line; std::getline(in, line);) {
    MemoryRegion m;
    std::istringstream words(line);
    std::string range, rights, device, inode;
    words >> range >> rights >> std::hex >> m.offset >> device >> inode >> m.path;
    size_t dash = range.find('-');
    m.begin = GuestAddr(std::stoull(range.substr(0, dash), nullptr, 16));
    m.end = GuestAddr(std::stoull(range.substr(dash + 1), nullptr, 16));
    m.protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                   (rights[2] == 'x' ? PROT_EXEC : 0);
    all.push_back(m);
  }
  return all;
}

Bytes Tracee::auxv() const {
  return file_bytes(fmt::format("/proc/{}/auxv", pid_));
}

} // namespace rdb::gdb
