// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that an instruction may write is known from its operands; around system calls and signals all
// writable memory is compared.
#include "tests/gdb/stepped_run.h"

#include "rdbtool/base/error.h"

#include <Zydis/Zydis.h>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <utility>

namespace rdb::gdb {

namespace {

constexpr size_t kMaxStates = 400'000;
constexpr uint64_t kNoSys = static_cast<uint64_t>(-38);

class Recorder {
public:
  Recorder(const std::vector<std::string>& argv, const std::string& function, unsigned turn)
      : tracee_(argv, function), turn_(turn) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    run_.argv = argv;
    run_.function = function;
    run_.pid = tracee_.pid();
    run_.auxv = tracee_.auxv();
    take_all_memory();
    run_.memory = memory_;
    current_ = ThreadId(tracee_.pid());
    run_.states.push_back({.at = {}, .next = current_});
    add_thread(current_, 0);
  }

  SteppedRun record() {
    while (!ended_ && run_.states.size() < kMaxStates) {
      for (unsigned i = 0; i < turn_ && !ended_ && can_run(current_); ++i)
        one_step();
      if (!ended_) next_thread();
    }
    run_.mappings = mappings_;
    return std::move(run_);
  }

private:
  struct Running {
    bool blocked = false;
    int signal = 0; // to deliver with the next step
    int64_t call = -1;
  };

  bool can_run(ThreadId thread) { return running_.contains(thread.value) && !running_[thread.value].blocked; }

  void add_thread(ThreadId thread, size_t state) {
    auto& record = run_.threads[thread.value];
    record.name = tracee_.name(thread);
    record.first = state;
    record.known.emplace_back(state, tracee_.registers(thread));
    running_[thread.value] = {};
  }

  // Any other thread that can go on; waits for one if all are in system calls.
  void next_thread() {
    for (;;) {
      for (auto& [id, running] : running_) {
        int status;
        if (running.blocked && tracee_.poll(ThreadId(id), status)) {
          current_ = ThreadId(id);
          call_returned(status);
          if (ended_) return;
          break;
        }
      }
      auto next = running_.upper_bound(current_.value);
      for (size_t i = 0; i <= running_.size(); ++i) {
        if (next == running_.end()) next = running_.begin();
        if (next == running_.end()) return;
        if (!next->second.blocked) {
          current_ = ThreadId(next->first);
          run_.states.back().next = current_;
          return;
        }
        ++next;
      }
    }
  }

  void one_step() {
    Running& running = running_[current_.value];
    if (running.signal != 0) return deliver();
    const ThreadRegisters& before = run_.threads[current_.value].known.back().second;
    SteppedRun::Step step{current_, true, {}, {}};
    bool call = false, everything = false;
    examine(before, step, call, everything);
    if (call) return system_call(before);
    finish(tracee_.step(current_, 0), std::move(step), everything);
  }

  // After a step without system call: a new state, or a signal that comes before it.
  void finish(int status, SteppedRun::Step step, bool everything) {
    if (gone(status)) return;
    ThreadRegisters after = tracee_.registers(current_);
    bool moved = !(after == run_.threads[current_.value].known.back().second);
    int signal = WSTOPSIG(status);
    bool plain = signal == SIGTRAP;
    if (moved || plain) {
      if (everything)
        compare_everything(step);
      else
        compare_accessed(step);
      push_state(std::move(step), after, next_time());
    }
    if (!plain) signal_arrives(signal);
  }

  void signal_arrives(int signal) {
    SteppedRun::State& state = run_.states.back();
    state.event = SteppedRun::State::Event::signal;
    state.number = signal;
    state.siginfo = tracee_.siginfo(current_);
    state.input_pending = true;
    running_[current_.value].signal = signal;
  }

  void deliver() {
    Running& running = running_[current_.value];
    int status = tracee_.step(current_, std::exchange(running.signal, 0));
    if (gone(status)) return;
    SteppedRun::Step step{current_, false, {}, {}};
    compare_everything(step);
    push_state(std::move(step), tracee_.registers(current_), next_input());
  }

  // Two states: in the call, and with its result.
  void system_call(const ThreadRegisters& before) {
    Running& running = running_[current_.value];
    ThreadRegisters inside = before;
    inside.rip += 2;
    inside.orig_rax = before.gpr[0];
    inside.gpr[1] = inside.rip;
    inside.gpr[11] = before.rflags;
    inside.gpr[0] = kNoSys;
    running.call = static_cast<int64_t>(before.gpr[0]);
    push_state({current_, true, {}, {}}, inside, next_time());
    run_.states.back().event = SteppedRun::State::Event::syscall_entry;
    run_.states.back().number = running.call;
    run_.states.back().input_pending = true;
    tracee_.start_step(current_, 0);
    int status;
    for (int i = 0; i < 50; ++i) {
      if (tracee_.poll(current_, status)) return call_returned(status);
      timespec pause{0, 100'000};
      nanosleep(&pause, nullptr);
    }
    if (running_.size() == 1) return call_returned(tracee_.wait(current_));
    running.blocked = true; // the others take their turns meanwhile
    run_.states.back().input_pending = false;
  }

  void call_returned(int status) {
    Running& running = running_[current_.value];
    running.blocked = false;
    if (gone(status)) return;
    std::optional<ThreadId> created;
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8)) {
      created = tracee_.new_thread(current_);
      tracee_.wait(*created);
      status = tracee_.step(current_, 0); // to the end of the call
    }
    take_all_mappings();
    SteppedRun::Step step{current_, false, {}, {}};
    compare_everything(step);
    push_state(std::move(step), tracee_.registers(current_), next_input());
    run_.states.back().event = SteppedRun::State::Event::syscall_return;
    run_.states.back().number = running.call;
    running.call = -1;
    if (created) add_thread(*created, run_.states.size() - 1);
    if (WSTOPSIG(status) != SIGTRAP) signal_arrives(WSTOPSIG(status));
  }

  // The thread is no more; with the last one, the program.
  bool gone(int status) {
    if (WIFSTOPPED(status)) return false;
    running_.erase(current_.value);
    if (running_.empty() || current_.value == tracee_.pid()) {
      ended_ = true;
      run_.ending = WIFEXITED(status) ? ProgramEnd{ProgramEnd::Kind::exited, WEXITSTATUS(status)}
                                      : ProgramEnd{ProgramEnd::Kind::signalled, WTERMSIG(status)};
      run_.states.back().input_pending = false;
      return true;
    }
    SteppedRun::Step step{current_, false, {}, {}};
    compare_everything(step); // the kernel clears the thread's id in memory
    run_.steps.push_back(std::move(step));
    run_.states.push_back({.at = next_input(), .next = ThreadId(running_.begin()->first)});
    run_.threads[current_.value].end = run_.states.size() - 1;
    return true;
  }

  Position next_time() const { return {run_.states.back().at.time + 1, 0}; }
  Position next_input() const { return {run_.states.back().at.time, run_.states.back().at.ordinal + 1}; }

  void push_state(SteppedRun::Step step, const ThreadRegisters& after, Position at) {
    run_.steps.push_back(std::move(step));
    run_.states.push_back({.at = at, .next = current_});
    run_.threads[current_.value].known.emplace_back(run_.states.size() - 1, after);
  }

  // Which memory the instruction at rip touches.
  void examine(const ThreadRegisters& regs, SteppedRun::Step& step, bool& call, bool& everything) {
    std::byte code[15] = {};
    tracee_.read(GuestAddr(regs.rip), code);
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code, sizeof code, &instruction, operands))) return;
    call = instruction.mnemonic == ZYDIS_MNEMONIC_SYSCALL;
    ZydisRegisterContext context{};
    for (unsigned i = 0; i < 16; ++i)
      context.values[ZYDIS_REGISTER_RAX + i] = regs.gpr[i];
    context.values[ZYDIS_REGISTER_RIP] = regs.rip;
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
      ZyanU64 address = 0;
      if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&instruction, &operand, regs.rip, &context, &address)))
        continue;
      if (operand.mem.segment == ZYDIS_REGISTER_FS) address += regs.fs_base;
      if (operand.mem.segment == ZYDIS_REGISTER_GS) address += regs.gs_base;
      bool write = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
      bool read = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
      uint64_t size = operand.size / 8;
      bool push = write && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
                  operand.mem.base == ZYDIS_REGISTER_RSP;
      if (push) address -= size;
      if (write && (size == 0 || size > 64)) everything = true; // xsave and its kind
      step.accesses.push_back({GuestAddr(address), size, read, write});
    }
  }

  void take_all_mappings() {
    mappings_ = tracee_.mappings();
    for (const MemoryRegion& m : mappings_) {
      bool readable = m.protection & PROT_READ;
      if (!readable || memory_.contains(m.begin.value) || m.path == "[vvar]" || m.path == "[vsyscall]")
        continue;
      // New memory, or memory that grew: only what is not known yet.
      uint64_t begin = m.begin.value;
      for (const auto& [address, bytes] : memory_)
        if (address < m.end.value && address + bytes.size() > begin) begin = address + bytes.size();
      if (begin >= m.end.value) continue;
      // What it holds is found as a change.
      run_.memory[begin] = Bytes(m.end.value - begin);
      memory_[begin] = Bytes(m.end.value - begin);
    }
  }

  void take_all_memory() {
    mappings_ = tracee_.mappings();
    for (const MemoryRegion& m : mappings_) {
      if (!(m.protection & PROT_READ) || m.path == "[vvar]" || m.path == "[vsyscall]") continue;
      Bytes bytes(m.end - m.begin);
      tracee_.read(m.begin, bytes);
      memory_[m.begin.value] = std::move(bytes);
    }
  }

  void compare_everything(SteppedRun::Step& step) {
    for (auto& [address, known] : memory_) {
      Bytes now(known.size());
      now.resize(tracee_.read(GuestAddr(address), now));
      for (size_t i = 0; i < now.size(); i += 4096)
        compare(step, address + i, std::span(known).subspan(i, std::min<size_t>(4096, now.size() - i)),
                std::span(now).subspan(i, std::min<size_t>(4096, now.size() - i)));
    }
  }

  void compare_accessed(SteppedRun::Step& step) {
    for (const SteppedRun::Access& access : std::vector(step.accesses)) {
      if (!access.write) continue;
      auto after = memory_.upper_bound(access.address.value);
      if (after == memory_.begin()) continue;
      auto& [base, known] = *std::prev(after);
      if (access.address.value + access.size > base + known.size()) continue;
      Bytes now(access.size);
      tracee_.read(access.address, now);
      compare(step, access.address.value, std::span(known).subspan(access.address.value - base, access.size),
              now);
    }
  }

  static void compare(SteppedRun::Step& step, uint64_t address, std::span<std::byte> known,
                      std::span<const std::byte> now) {
    if (std::memcmp(known.data(), now.data(), now.size()) == 0) return;
    size_t first = 0, last = now.size();
    while (known[first] == now[first])
      ++first;
    while (known[last - 1] == now[last - 1])
      --last;
    auto old_part = known.subspan(first, last - first);
    auto new_part = now.subspan(first, last - first);
    step.changes.push_back({GuestAddr(address + first), Bytes(old_part.begin(), old_part.end()),
                            Bytes(new_part.begin(), new_part.end())});
    if (!step.instruction) step.accesses.push_back({GuestAddr(address + first), last - first, false, true});
    std::memcpy(old_part.data(), new_part.data(), new_part.size());
  }

  Tracee tracee_;
  unsigned turn_;
  ZydisDecoder decoder_;
  SteppedRun run_;
  std::map<uint64_t, Bytes> memory_; // as it is now
  std::vector<MemoryRegion> mappings_;
  std::map<int32_t, Running> running_;
  ThreadId current_;
  bool ended_ = false;
};

} // namespace

SteppedRun record_stepped_run(const std::vector<std::string>& argv, const std::string& function,
                              unsigned turn) {
  return Recorder(argv, function, turn).record();
}

} // namespace rdb::gdb
