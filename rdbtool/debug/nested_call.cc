// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/nested_call.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/refusal.h"
#include "rdbtool/debug/watched_call.h"
#include "rdbtool/guest/space_view.h"
#include "rdbtool/guest/syscalls/describe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" {
void rdb_nested_stub();
void rdb_always_watched_stub();
void rdb_nested_call(rdb::debug::CallFrame* frame, uint64_t target);
__attribute__((visibility("hidden"))) bool rdb_has_avx = false;
}

asm(R"(
    .text
    .globl rdb_always_watched_stub
    .type rdb_always_watched_stub, @function
rdb_always_watched_stub:
    mov $1, %r10d
    jmp .Lnested_stub_of_kind
    .size rdb_always_watched_stub, .-rdb_always_watched_stub
    .globl rdb_nested_stub
    .type rdb_nested_stub, @function
rdb_nested_stub:
    .cfi_startproc
    xor %r10d, %r10d
.Lnested_stub_of_kind:
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $384, %rsp
    and $-32, %rsp
    mov %rdi, 0(%rsp)
    mov %rsi, 8(%rsp)
    mov %rdx, 16(%rsp)
    mov %rcx, 24(%rsp)
    mov %r8, 32(%rsp)
    mov %r9, 40(%rsp)
    movzbl %al, %eax
    mov %rax, 48(%rsp)
    mov %r10b, 73(%rsp)
    cmpb $0, rdb_has_avx(%rip)
    je 1f
    vmovups %ymm0, 96(%rsp)
    vmovups %ymm1, 128(%rsp)
    vmovups %ymm2, 160(%rsp)
    vmovups %ymm3, 192(%rsp)
    vmovups %ymm4, 224(%rsp)
    vmovups %ymm5, 256(%rsp)
    vmovups %ymm6, 288(%rsp)
    vmovups %ymm7, 320(%rsp)
    jmp 2f
1:
    movups %xmm0, 96(%rsp)
    movups %xmm1, 128(%rsp)
    movups %xmm2, 160(%rsp)
    movups %xmm3, 192(%rsp)
    movups %xmm4, 224(%rsp)
    movups %xmm5, 256(%rsp)
    movups %xmm6, 288(%rsp)
    movups %xmm7, 320(%rsp)
2:  lea 16(%rbp), %rax
    mov %rax, 352(%rsp)
    mov %rsp, %rdi
    mov %r11, %rsi
    call rdb_nested_call
    mov 56(%rsp), %rax
    mov 64(%rsp), %rdx
    cmpb $0, 72(%rsp)
    je 3f
    vmovups 96(%rsp), %ymm0
    vmovups 128(%rsp), %ymm1
    jmp 4f
3:  movups 96(%rsp), %xmm0
    movups 128(%rsp), %xmm1
4:  mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size rdb_nested_stub, .-rdb_nested_stub
)");

namespace rdb::debug {
namespace {

using engine::RAX;
using engine::RSP;

static_assert(offsetof(CallFrame, result) == 56 && offsetof(CallFrame, is_wide) == 72 &&
              offsetof(CallFrame, is_always_watched) == 73 && offsetof(CallFrame, vector) == 96 &&
              offsetof(CallFrame, stack_arguments) == 352 && offsetof(CallFrame, stack_size) == 360);

constexpr uint64_t kStackSize = 8u << 20;
// Where a nested call returns to: no code is ever there.
constexpr uint64_t kReturnAddress = guest::kLowEnd - 0x10;
// The second engine's memory, above the guest's low range and around the table of the first.
constexpr uint64_t kCachePlace = guest::kLowEnd;
constexpr size_t kCacheSize = 14u << 20;
constexpr uint64_t kTablePlace = guest::kTablePlace + (1u << 20);
// Instructions between looks at the log; each may write this many entries.
constexpr uint64_t kSlice = 1u << 18;
constexpr size_t kEntriesAnInstruction = 8;
constexpr size_t kLogEntries = 40u << 20;
constexpr size_t kLogKept = 1u << 20; // bytes of it that stay in memory

constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                       engine::RCX, engine::R8,  engine::R9};

engine::TranslatorOptions engine_options() {
  engine::TranslatorOptions options;
  options.cache_place = kCachePlace;
  options.cache_size = kCacheSize;
  options.table_place = kTablePlace;
  options.traces = false;
  options.log_stores = true;
  return options;
}

void* reserve(size_t size) {
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) limit("no memory for calls into the program ({})", std::strerror(errno));
  return memory;
}

} // namespace

void* nested_call_stub() {
  return reinterpret_cast<void*>(rdb_nested_stub);
}

void* always_watched_stub() {
  return reinterpret_cast<void*>(rdb_always_watched_stub);
}

void run_nested_call(CallFrame* frame, uint64_t target) {
  if (target >= guest::kHighEnd) return run_watched_call(*frame, target);
  if (NestedCalls::current_ == nullptr || !can_escape())
    give_up("a function of the program was called before the program runs");
  if (target == 0)
    give_up("debug code called a function that the program does not have, or an indirect one (ifunc)");
  NestedCalls::current_->run(*frame, target);
}

NestedCalls::NestedCalls(replay::Replayer& replayer, WriteGuard& guard)
    : replayer_(replayer), engine_(replayer.space(), engine_options()), guard_(guard), heap_(engine_) {
  rdb_has_avx = engine::cpu().avx;
  // Memory of the host: the guest's own state is not changed by it, and what is written there is not undone.
  stack_ = reinterpret_cast<uint64_t>(reserve(kStackSize));
  mprotect(reinterpret_cast<void*>(stack_), guest::kPage, PROT_NONE);
  log_ = {static_cast<engine::StoreLogEntry*>(reserve(kLogEntries * sizeof(engine::StoreLogEntry))),
          kLogEntries};
  engine_.set_store_log(log_);
  engine_.add_stop(GuestAddr(kReturnAddress));
  replayer.space().on_code_change(
      [this](GuestAddr begin, uint64_t size) { engine_.invalidate(begin, size); });
  guest::add_host_signals(engine_);
}

NestedCalls::~NestedCalls() {
  munmap(reinterpret_cast<void*>(stack_), kStackSize);
  munmap(log_.data(), log_.size_bytes());
}

bool NestedCalls::redirect(int signal, const siginfo_t* info, void* context) {
  auto* gregs = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (signal != SIGSEGV || reinterpret_cast<uint64_t>(info->si_addr) != pc || !can_escape()) return false;
  if (replayer_.space().find(pc) == nullptr) return false;
  gregs[REG_R11] = static_cast<greg_t>(pc);
  gregs[REG_RIP] = reinterpret_cast<greg_t>(rdb_nested_stub);
  return true;
}

bool NestedCalls::interrupt(void* context) {
  if (!running_) return false;
  engine_.interrupt(context);
  return true;
}

void NestedCalls::begin_use() {
  used_ = true;
  running_ = false;
  watched_ = 0;
  guard_.begin();
  output_.begin();
  heap_.begin();
  stack_top_ = stack_ + kStackSize;
  engine::Registers& regs = engine_.registers();
  regs = {};
  regs.fs_base = replayer_.registers().fs_base;
  regs.gs_base = replayer_.registers().gs_base;
  engine_.state().mxcsr_guest = replayer_.translator().state().mxcsr_guest;
  errno_place_ = regs.fs_base + guest_errno().value_or(0);
  if (!guest_errno() || !replayer_.space().is_plain(errno_place_, sizeof(int))) errno_place_ = 0;
}

void NestedCalls::undo() {
  guard_.unprotect();
  output_.show_waiting();
  bool has_code_pages = replayer_.space().has_code_pages();
  for (engine::StoreLogEntry* entry = engine_.store_log_end(); entry-- > log_.data();) {
    // The debug code's own memory, and the stack of nested calls.
    if (entry->address >= guest::kHighEnd) continue;
    // Not there any more soon, and perhaps read-only.
    if (!mapped_.empty() && is_own(entry->address, entry->size)) continue;
    if (has_code_pages)
      replayer_.space().write(GuestAddr(entry->address), &entry->old, entry->size);
    else
      std::memcpy(reinterpret_cast<void*>(entry->address), &entry->old, entry->size);
  }
  for (auto [begin, size] : mapped_)
    replayer_.space().munmap(begin, size);
  mapped_.clear();
  size_t used = static_cast<size_t>(engine_.store_log_end() - log_.data()) * sizeof(engine::StoreLogEntry);
  if (used > kLogKept) madvise(log_.data(), used, MADV_DONTNEED);
  engine_.set_store_log(log_);
  used_ = false;
  running_ = false;
}

void NestedCalls::read_vectors(CallFrame& frame, size_t count) const {
  constexpr std::array<uint8_t, 16> kZero = {};
  frame.is_wide = false;
  for (size_t i = 0; i < count; ++i) {
    engine_.read_vector(i, reinterpret_cast<std::byte*>(frame.vector[i]));
    frame.is_wide |= std::memcmp(frame.vector[i] + kZero.size(), kZero.data(), kZero.size()) != 0;
  }
}

void NestedCalls::write_vectors(const CallFrame& frame, size_t count) {
  for (size_t i = 0; i < count; ++i)
    engine_.write_vector(i, reinterpret_cast<const std::byte*>(frame.vector[i]));
}

void NestedCalls::run(CallFrame& frame, uint64_t function) {
  engine::Registers& regs = engine_.registers();
  const int own_errno = errno;
  if (!used_) begin_use();
  guard_.unprotect();
  give_errno(own_errno);
  const engine::Registers saved = regs;
  const uint64_t saved_top = stack_top_;
  for (int i = 0; i < 6; ++i)
    regs.gpr[kArguments[i]] = frame.integer[i];
  regs.gpr[RAX] = frame.vector_count;
  write_vectors(frame, 8);
  auto arguments = reinterpret_cast<uint64_t>(frame.stack_arguments);
  uint64_t size = std::min(reinterpret_cast<uint64_t>(running.escape) - arguments, kMostArguments);
  // Aligned like the original.
  uint64_t sp = ((stack_top_ - size - 64) & ~63ull) + arguments % 64;
  std::memcpy(reinterpret_cast<void*>(sp), frame.stack_arguments, size);
  sp -= 8;
  std::memcpy(reinterpret_cast<void*>(sp), &kReturnAddress, 8);
  regs.gpr[RSP] = sp;
  regs.rip = function;
  while (regs.rip != kReturnAddress) {
    auto room = static_cast<size_t>(log_.data() + log_.size() - engine_.store_log_end());
    if (room < (kSlice + 1024) * kEntriesAnInstruction)
      give_up("a call into the program wrote more than can be undone");
    engine::Stop stop;
    std::string failure;
    running_ = true;
    try {
      stop = engine_.run(kSlice);
    } catch (const std::exception& error) {
      failure = error.what();
    }
    running_ = false;
    if (!failure.empty()) give_up("a call into the program failed: " + failure);
    switch (stop.reason) {
    case engine::StopReason::limit:
      break;
    case engine::StopReason::address:
      if (std::optional<GuestHeap::Block> block = heap_.stopped()) keep(block->begin, block->size);
      break;
    case engine::StopReason::interrupted:
      give_up("a call into the program did not return in time");
    case engine::StopReason::system_call:
      regs.gpr[RAX] = static_cast<uint64_t>(system_call());
      break;
    case engine::StopReason::input:
      engine_.finish_input(engine_.execute_input());
      break;
    default:
      if (is_callback(stop))
        call_out();
      else if (reinterpret_cast<uint64_t>(stop.fault.info.si_addr) - kReturnAddress < 16 &&
               regs.rip != kReturnAddress)
        give_up("an exception left a function of the program that debug code has called");
      else if (!(stop.fault.error_code & 2) || !replayer_.space().release_code_page(GuestAddr(
                                                   reinterpret_cast<uint64_t>(stop.fault.info.si_addr))))
        give_up(fmt::format("a call into the program raised signal {} at {:#x} for address {}",
                            stop.fault.signal, regs.rip, stop.fault.info.si_addr));
    }
  }
  output_.show_waiting();
  frame.result[0] = regs.gpr[RAX];
  frame.result[1] = regs.gpr[engine::RDX];
  read_vectors(frame, 2);
  stack_top_ = saved_top;
  regs = saved;
  const int new_errno = take_errno(own_errno);
  if (watched_ > 0 || guard_.reports()) guard_.protect();
  errno = new_errno;
}

// Debug code and what it calls have one errno, as if they were one program.
void NestedCalls::give_errno(int value) {
  if (take_errno(value) != value) store(errno_place_, &value, sizeof value);
}

int NestedCalls::take_errno(int otherwise) const {
  if (errno_place_ != 0) std::memcpy(&otherwise, reinterpret_cast<void*>(errno_place_), sizeof otherwise);
  return otherwise;
}

// Did the guest jump to code of the host?
bool NestedCalls::is_callback(const engine::Stop& stop) const {
  uint64_t pc = engine_.state().registers.rip;
  return stop.reason == engine::StopReason::fault && stop.fault.signal == SIGSEGV && pc >= guest::kHighEnd &&
         pc == reinterpret_cast<uint64_t>(stop.fault.info.si_addr);
}

// The guest has called a function of the debug code: a callback. Its return address is on the guest's stack.
void NestedCalls::call_out() {
  engine::Registers& regs = engine_.registers();
  uint64_t function = regs.rip;
  uint64_t back;
  std::memcpy(&back, reinterpret_cast<void*>(regs.gpr[RSP]), 8);
  CallFrame frame{};
  for (int i = 0; i < 6; ++i)
    frame.integer[i] = regs.gpr[kArguments[i]];
  frame.vector_count = regs.gpr[RAX] & 0xFF;
  frame.is_always_watched = true;
  read_vectors(frame, 8);
  uint64_t arguments = regs.gpr[RSP] + 8;
  frame.stack_arguments = reinterpret_cast<const uint64_t*>(arguments);
  // On a stack of its own the program may have less than that above.
  constexpr uint64_t kUsual = 96;
  bool on_stack = arguments >= stack_ && arguments <= stack_ + kStackSize;
  frame.stack_size =
      on_stack ? std::min<uint64_t>((stack_ + kStackSize - arguments) & ~15ull, kMostArguments) : kUsual;
  const engine::Registers saved = regs;
  const uint64_t saved_top = stack_top_;
  stack_top_ = (regs.gpr[RSP] - 256) & ~15ull; // nested calls of the callback go below
  output_.show_waiting();
  errno = take_errno(0);
  if (guard_.reports()) guard_.protect();
  std::string thrown;
  Whereabouts place;
  try {
    call_watched(frame, function);
  } catch (...) {
    thrown = describe_exception("an exception left a callback of debug code");
    place = place_of_throw();
  }
  // The program's frames around it cannot be unwound.
  if (!thrown.empty()) give_up_from(place, thrown);
  const int new_errno = errno;
  guard_.unprotect();
  give_errno(new_errno);
  stack_top_ = saved_top;
  regs = saved;
  regs.gpr[RAX] = frame.result[0];
  regs.gpr[engine::RDX] = frame.result[1];
  write_vectors(frame, 2);
  regs.gpr[RSP] += 8;
  regs.rip = back;
}

// Was it mapped by nested calls of this region?
bool NestedCalls::is_own(uint64_t address, uint64_t size) const {
  return std::any_of(mapped_.begin(), mapped_.end(), [&](const std::pair<uint64_t, uint64_t>& block) {
    return address >= block.first && size <= block.second && address - block.first <= block.second - size;
  });
}

// Whatever is written to this memory is undone.
void NestedCalls::keep(uint64_t address, uint64_t size) {
  if (address >= guest::kHighEnd || is_own(address, size)) return;
  engine::StoreLogEntry* entry = engine_.store_log_end();
  engine::StoreLogEntry* end = log_.data() + log_.size();
  if (static_cast<uint64_t>(end - entry) < size / sizeof entry->old + kSlice)
    give_up("more memory of the program is to change than can be undone");
  bool is_plain = replayer_.space().is_plain(address, size);
  std::byte bytes[4096];
  for (uint64_t done = 0; done < size;) {
    size_t some = std::min<uint64_t>(size - done, sizeof bytes);
    GuestAddr from(address + done);
    if (is_plain)
      std::memcpy(bytes, from.ptr(), some);
    else
      some = replayer_.space().read(from, bytes, some);
    if (some == 0) break;
    for (size_t at = 0; at < some; at += sizeof entry->old, ++entry) {
      auto part = static_cast<uint32_t>(std::min(some - at, sizeof entry->old));
      *entry = {from.value + at, part, 0, 0};
      std::memcpy(&entry->old, bytes + at, part);
    }
    done += some;
  }
  engine_.set_store_log({entry, end});
}

void NestedCalls::keep_for_debug_code(const void* address, unsigned long size) {
  if (current_ == nullptr || !can_escape())
    give_up("debug code wrote to the program's memory before the program runs");
  auto at = reinterpret_cast<uint64_t>(address);
  if (!current_->used_) current_->begin_use();
  const uint64_t end = at + std::min<uint64_t>(size, guest::kHighEnd - at);
  while (at < end) {
    const guest::Mapping* mapping = current_->replayer_.space().find(at);
    // What cannot be written to needs no undoing; debug code is told by a fault.
    if (mapping == nullptr || !(mapping->protection & PROT_WRITE)) return;
    uint64_t until = std::min(end, mapping->end);
    current_->keep(at, until - at);
    at = until;
  }
}

void NestedCalls::guard() {
  if (!used_) begin_use();
  guard_.protect();
}

void NestedCalls::guard_for_debug_code() {
  if (current_ != nullptr && can_escape()) current_->guard();
}

// Lets the pages be written to that are withheld.
void NestedCalls::open(uint64_t begin, uint64_t end) {
  for (uint64_t page = guest::page_down(begin); page < end; page += guest::kPage) {
    if (!guard_.is_withheld(page)) continue;
    keep(page, guest::kPage);
    guard_.open(page);
  }
}

bool NestedCalls::notice_write(uint64_t address, void* context) {
  if (running_) return false;
  // Of what debug code writes itself the old bytes are kept by now: only the translations must go.
  if (!guard_.is_read_only())
    return address < guest::kHighEnd && replayer_.space().release_code_page(GuestAddr(address));
  if (!guard_.is_withheld(guest::page_down(address))) return false;
  guard_.note(address, context);
  open(address, address + 1);
  return true;
}

void NestedCalls::fill_for_debug_code(const void* address, unsigned long size) {
  keep_for_debug_code(address, size);
  if (!current_->guard_.is_read_only()) return;
  auto begin = reinterpret_cast<uint64_t>(address);
  ucontext_t here;
  getcontext(&here);
  current_->guard_.note(begin, &here);
  current_->open(begin, begin + std::min<uint64_t>(size, guest::kHighEnd - begin));
}

bool NestedCalls::begin_watch(const CallFrame& frame) {
  constexpr size_t kMostWords = 12;
  constexpr uint64_t kMostFilled = 64u << 20;
  std::array<uint64_t, sizeof frame.integer / sizeof(uint64_t) + kMostWords> pointer_room, number_room;
  size_t pointer_count = 0, number_count = 0;
  auto sort = [&](uint64_t value) {
    const guest::Mapping* mapping =
        value >= guest::kPage && value < guest::kHighEnd ? replayer_.space().find(value) : nullptr;
    if (mapping == nullptr)
      number_room[number_count++] = value;
    else if (mapping->protection & PROT_WRITE)
      pointer_room[pointer_count++] = value;
  };
  std::for_each(std::begin(frame.integer), std::end(frame.integer), sort);
  std::for_each_n(frame.stack_arguments, std::min<size_t>(frame.stack_size / sizeof(uint64_t), kMostWords),
                  sort);
  std::span pointers(pointer_room.data(), pointer_count), numbers(number_room.data(), number_count);
  if (pointers.empty() && !frame.is_always_watched) return false;
  guard();
  ++watched_;
  // The kernel cannot write to what is withheld, and who asks it to says how much in another argument, as a
  // rule.
  for (uint64_t begin : pointers) {
    uint64_t room = replayer_.space().find(begin)->end - begin;
    uint64_t size = guest::kPage;
    for (uint64_t number : numbers)
      if (number <= std::min(room, kMostFilled)) size = std::max(size, number);
    size = std::min(size, room);
    if (guard_.reports()) {
      const auto* bytes = reinterpret_cast<const std::byte*>(begin);
      found_.emplace_back(begin, std::vector<std::byte>(bytes, bytes + size));
    }
    open(begin, begin + size);
  }
  return true;
}

void NestedCalls::end_watch() {
  --watched_;
  for (const auto& [begin, bytes] : std::exchange(found_, {})) {
    auto changed = std::mismatch(bytes.begin(), bytes.end(), reinterpret_cast<const std::byte*>(begin)).first;
    if (changed == bytes.end()) continue;
    ucontext_t here;
    getcontext(&here);
    guard_.note(begin + static_cast<uint64_t>(changed - bytes.begin()), &here);
  }
}

// For a system call: like what the function stores itself. False: there is no such memory.
bool NestedCalls::store(uint64_t address, const void* bytes, size_t size) {
  if (address < guest::kHighEnd) {
    keep(address, size);
    return replayer_.space().write(GuestAddr(address), bytes, size) == size;
  }
  iovec local{const_cast<void*>(bytes), size}, remote{reinterpret_cast<void*>(address), size};
  return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

int64_t NestedCalls::system_call() {
  guest::SystemCall call = guest::call_in(engine_.registers());
  const SyscallArgs& a = call.arguments;
  guest::AddressSpace& space = replayer_.space();
  switch (call.number) {
  case SYS_write:
  case SYS_writev:
    if (a[0] != 1 && a[0] != 2) break;
    return output_.write(static_cast<int>(a[0]), a[1], a[2], call.number == SYS_writev);
  case SYS_fstat:
  case SYS_newfstatat:
    // Asked by stdio before it prints for the first time. Without an answer it takes a buffer of the usual
    // size.
    if ((a[0] != 1 && a[0] != 2) || (call.number == SYS_newfstatat && !(a[3] & AT_EMPTY_PATH))) break;
    return -EBADF;
  case SYS_brk:
    // It stays where it is, as if there were no room: malloc falls back to mmap.
    return static_cast<int64_t>(space.brk_end());
  case SYS_mmap: {
    if (!(a[3] & MAP_ANONYMOUS) || a[3] & MAP_FIXED) break;
    int64_t place = space.mmap(0, a[1], static_cast<int>(a[2]), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place > 0) mapped_.emplace_back(static_cast<uint64_t>(place), guest::page_up(a[1]));
    return place;
  }
  case SYS_munmap:
    return 0; // its own is gone when the region ends; the program's is still there then
  case SYS_mremap:
    return -ENOMEM; // realloc copies instead
  case SYS_mprotect:
    if (is_own(a[0], guest::page_up(a[1]))) return space.mprotect(a[0], a[1], static_cast<int>(a[2]));
    break;
  case SYS_madvise:
    if (a[2] != MADV_DONTNEED && a[2] != MADV_FREE && a[2] != MADV_REMOVE) return 0;
    if (!is_own(a[0], guest::page_up(a[1]))) break;
    return space.madvise(a[0], a[1], MADV_DONTNEED);
  case SYS_getrandom: {
    // The first malloc asks for some bytes. They are the same every time.
    constexpr uint64_t kMost = 256;
    std::array<uint8_t, kMost> bytes;
    bytes.fill(0x5A);
    uint64_t size = std::min(a[1], kMost);
    return store(a[0], bytes.data(), size) ? static_cast<int64_t>(size) : -EFAULT;
  }
  case SYS_rt_sigprocmask: {
    // Nothing is delivered meanwhile, whatever the mask is.
    uint64_t mask = replayer_.mask();
    return a[2] == 0 || store(a[2], &mask, sizeof mask) ? 0 : -EFAULT;
  }
  case SYS_futex:
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) return 0; // nobody else runs meanwhile
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT || (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
      give_up(
          fmt::format("a call into the program waits for a lock at {:#x} that another thread holds", a[0]));
    break;
  default:
    break;
  }
  give_up(fmt::format(
      "a call into the program made a system call that debug code must not make: {}",
      describe_call(static_cast<uint64_t>(call.number), a, std::nullopt, guest::SpaceView(space))));
}

} // namespace rdb::debug

void rdb_nested_call(rdb::debug::CallFrame* frame, uint64_t target) {
  rdb::debug::run_nested_call(frame, target);
}
