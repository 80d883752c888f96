// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/seccomp_filter.h"

#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/memory/address_space.h"

#include <cerrno>
#include <cstring>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr uint32_t kKnownFlags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG |
                                 SECCOMP_FILTER_FLAG_SPEC_ALLOW | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;

bool may_filter() {
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return true;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  return syscall(SYS_capget, &header, data) == 0 && data[0].effective >> CAP_SYS_ADMIN & 1;
}

bool knows_action(uint32_t action) {
  switch (action) {
  case SECCOMP_RET_KILL_PROCESS:
  case SECCOMP_RET_KILL_THREAD:
  case SECCOMP_RET_TRAP:
  case SECCOMP_RET_ERRNO:
  case SECCOMP_RET_TRACE:
  case SECCOMP_RET_LOG:
  case SECCOMP_RET_ALLOW:
    return true;
  default:
    return false;
  }
}

// The smaller, as signed numbers, is the more severe.
bool more_severe(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a & SECCOMP_RET_ACTION_FULL) <
         static_cast<int32_t>(b & SECCOMP_RET_ACTION_FULL);
}

std::optional<uint32_t> arithmetic(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
  case BPF_ADD:
    return a + b;
  case BPF_SUB:
    return a - b;
  case BPF_MUL:
    return a * b;
  case BPF_DIV:
    if (b == 0) return std::nullopt;
    return a / b;
  case BPF_AND:
    return a & b;
  case BPF_OR:
    return a | b;
  case BPF_XOR:
    return a ^ b;
  case BPF_LSH:
    return b < 32 ? a << b : 0;
  case BPF_RSH:
    return b < 32 ? a >> b : 0;
  case BPF_NEG:
    return -a;
  default:
    return std::nullopt;
  }
}

bool jumps(uint16_t operation, uint32_t a, uint32_t b) {
  switch (operation) {
  case BPF_JEQ:
    return a == b;
  case BPF_JGT:
    return a > b;
  case BPF_JGE:
    return a >= b;
  default:
    return (a & b) != 0; // BPF_JSET
  }
}

} // namespace

bool is_valid_filter(const std::vector<sock_filter>& program) {
  if (program.empty() || program.size() > BPF_MAXINSNS) return false;
  for (size_t i = 0; i < program.size(); ++i) {
    const sock_filter& op = program[i];
    size_t left = program.size() - i - 1;
    switch (op.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      if (op.k >= sizeof(seccomp_data) || op.k & 3) return false;
      break;
    case BPF_LD | BPF_IMM:
    case BPF_LDX | BPF_IMM:
    case BPF_LD | BPF_W | BPF_LEN:
    case BPF_LDX | BPF_W | BPF_LEN:
    case BPF_MISC | BPF_TAX:
    case BPF_MISC | BPF_TXA:
    case BPF_RET | BPF_K:
    case BPF_RET | BPF_A:
      break;
    case BPF_LD | BPF_MEM:
    case BPF_LDX | BPF_MEM:
    case BPF_ST:
    case BPF_STX:
      if (op.k >= BPF_MEMWORDS) return false;
      break;
    case BPF_JMP | BPF_JA:
      if (op.k >= left) return false;
      break;
    case BPF_JMP | BPF_JEQ | BPF_K:
    case BPF_JMP | BPF_JEQ | BPF_X:
    case BPF_JMP | BPF_JGT | BPF_K:
    case BPF_JMP | BPF_JGT | BPF_X:
    case BPF_JMP | BPF_JGE | BPF_K:
    case BPF_JMP | BPF_JGE | BPF_X:
    case BPF_JMP | BPF_JSET | BPF_K:
    case BPF_JMP | BPF_JSET | BPF_X:
      if (op.jt >= left || op.jf >= left) return false;
      break;
    default: {
      if (BPF_CLASS(op.code) != BPF_ALU || op.code > 0xFF) return false;
      uint16_t operation = BPF_OP(op.code);
      if (operation > BPF_XOR || operation == BPF_MOD) return false;
      if (BPF_SRC(op.code) == BPF_K) {
        if (operation == BPF_DIV && op.k == 0) return false;
        if ((operation == BPF_LSH || operation == BPF_RSH) && op.k >= 32) return false;
      }
    }
    }
  }
  return BPF_CLASS(program.back().code) == BPF_RET;
}

uint32_t run_filter(const std::vector<sock_filter>& program, const void* data, uint32_t size) {
  uint32_t a = 0;
  uint32_t x = 0;
  uint32_t memory[BPF_MEMWORDS] = {};
  for (size_t i = 0; i < program.size(); ++i) {
    const sock_filter& op = program[i];
    uint32_t operand = BPF_SRC(op.code) == BPF_X ? x : op.k;
    switch (BPF_CLASS(op.code)) {
    case BPF_LD:
    case BPF_LDX: {
      uint32_t value = op.k; // BPF_IMM
      if (BPF_MODE(op.code) == BPF_ABS)
        std::memcpy(&value, static_cast<const char*>(data) + op.k, sizeof value);
      else if (BPF_MODE(op.code) == BPF_MEM)
        value = memory[op.k];
      else if (BPF_MODE(op.code) == BPF_LEN)
        value = size;
      (BPF_CLASS(op.code) == BPF_LD ? a : x) = value;
      break;
    }
    case BPF_ST:
      memory[op.k] = a;
      break;
    case BPF_STX:
      memory[op.k] = x;
      break;
    case BPF_ALU: {
      std::optional<uint32_t> value = arithmetic(BPF_OP(op.code), a, operand);
      if (!value) return SECCOMP_RET_KILL_THREAD; // a division by zero returns 0
      a = *value;
      break;
    }
    case BPF_JMP:
      if (BPF_OP(op.code) == BPF_JA)
        i += op.k;
      else
        i += jumps(BPF_OP(op.code), a, operand) ? op.jt : op.jf;
      break;
    case BPF_RET:
      return BPF_RVAL(op.code) == BPF_A ? a : op.k;
    default: // BPF_MISC
      if (BPF_MISCOP(op.code) == BPF_TAX)
        x = a;
      else
        a = x;
    }
  }
  return SECCOMP_RET_KILL_THREAD;
}

uint32_t SeccompFilters::judge(const SystemCall& call, uint64_t address) const {
  if (strict_) {
    bool allowed = call.number == SYS_read || call.number == SYS_write || call.number == SYS_exit ||
                   call.number == SYS_rt_sigreturn;
    return allowed ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
  }
  seccomp_data data{};
  data.nr = static_cast<int>(call.number);
  data.arch = AUDIT_ARCH_X86_64;
  data.instruction_pointer = address;
  for (size_t i = 0; i < 6; ++i)
    data.args[i] = call.arguments[i];
  uint32_t verdict = SECCOMP_RET_ALLOW;
  for (auto program = programs_.rbegin(); program != programs_.rend(); ++program) {
    uint32_t action = run_filter(*program, &data, sizeof data);
    if (more_severe(action, verdict)) verdict = action;
  }
  return verdict;
}

ComputedAnswer SeccompFilters::set_filter(AddressSpace& space, Refusals& refusals, uint64_t flags,
                                          uint64_t program) {
  if (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) {
    refusals.tell("seccomp with a listener (the program gets EINVAL)");
    return {-EINVAL, {}};
  }
  if (flags & ~static_cast<uint64_t>(kKnownFlags) || strict_) return {-EINVAL, {}};
  sock_fprog header;
  if (space.read(GuestAddr(program), &header, sizeof header) != sizeof header) return {-EFAULT, {}};
  if (header.len == 0 || header.len > BPF_MAXINSNS) return {-EINVAL, {}};
  if (!may_filter()) return {-EACCES, {}};
  std::vector<sock_filter> code(header.len);
  size_t size = code.size() * sizeof code[0];
  if (space.read(GuestAddr(reinterpret_cast<uint64_t>(header.filter)), code.data(), size) != size)
    return {-EFAULT, {}};
  if (!is_valid_filter(code)) return {-EINVAL, {}};
  add(std::move(code));
  return {0, {}};
}

std::optional<ComputedAnswer> SeccompFilters::answer(AddressSpace& space, Refusals& refusals,
                                                     const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  auto set_strict = [&]() -> ComputedAnswer {
    if (!programs_.empty()) return {-EINVAL, {}};
    strict_ = true;
    return {0, {}};
  };
  if (call.number == SYS_prctl && static_cast<int>(a[0]) == PR_GET_SECCOMP)
    return ComputedAnswer{strict_ ? SECCOMP_MODE_STRICT : programs_.empty() ? 0 : SECCOMP_MODE_FILTER, {}};
  if (call.number == SYS_prctl && static_cast<int>(a[0]) == PR_SET_SECCOMP) {
    if (a[1] == SECCOMP_MODE_STRICT) return set_strict();
    if (a[1] == SECCOMP_MODE_FILTER) return set_filter(space, refusals, 0, a[2]);
    return ComputedAnswer{-EINVAL, {}};
  }
  if (call.number != SYS_seccomp) return std::nullopt;
  switch (static_cast<uint32_t>(a[0])) {
  case SECCOMP_SET_MODE_STRICT:
    if (a[1] != 0 || a[2] != 0) return ComputedAnswer{-EINVAL, {}};
    return set_strict();
  case SECCOMP_SET_MODE_FILTER:
    return set_filter(space, refusals, static_cast<uint32_t>(a[1]), a[2]);
  case SECCOMP_GET_ACTION_AVAIL: {
    uint32_t action;
    if (a[1] != 0) return ComputedAnswer{-EINVAL, {}};
    if (space.read(GuestAddr(a[2]), &action, sizeof action) != sizeof action)
      return ComputedAnswer{-EFAULT, {}};
    return ComputedAnswer{knows_action(action) ? 0 : -EOPNOTSUPP, {}};
  }
  default:
    return ComputedAnswer{-EINVAL, {}};
  }
}

} // namespace rdb::guest
