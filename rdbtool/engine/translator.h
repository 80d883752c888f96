// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The engine that rdb comes with: a copying translator. Guest code is never executed in place, only copies of
// it in the code cache, with an exact count of guest instructions kept inline. Basic blocks first; those that
// are used often become heads of superblocks, recorded by stepping along the path the guest really takes.
//
// run() is a loop of three steps. advance() looks at the guest's rip and chooses the code to go on with: a
// block at full speed if there is room in the budget, a single step if an exact stop, a watched access or a
// hook is near. enter() runs it until it comes back. handle_exit() (handle_exit.cc) asks why it has come
// back, by a number that the code has stored, and either says where the guest goes on or fills in the Stop
// that run() returns.
//
// What one turn of this loop has to tell the next stands in three structs, each written by one side and read
// by the other:
//   NextEntry        an exit, for the entry that follows: link it, check an access, or do one single step;
//   InterruptedCode  a signal handler, for handle_signal(): what it has interrupted, and what that means;
//   HookCalls        a hook, for the code that has called it: not to call it twice, or not to go on.
// Besides these, a turn may leave that the run ends earlier than it was to (run_target_, run_shortened_),
// that a stop at the first instruction is not passed any more (passes_stop_), that a system call is done
// already (fast_syscall_done_), which instruction waits for finish_input() (current_input_), and which access
// was reported and is not to be reported again (reported_access_). interrupted_ may become true at any time.
#pragma once

#include "rdbtool/engine/code_cache.h"
#include "rdbtool/engine/store_log.h"
#include "rdbtool/engine/translate/code_path.h"

#include <atomic>
#include <exception>
#include <unordered_set>

namespace rdb::engine {

struct TranslatorOptions {
  uint64_t cache_place = 0;
  size_t cache_size = 256u << 20;
  uint64_t table_place = 0; // below 2 GiB
  bool superblocks = true;
  // What a superblock costs to make, it brings in only where a block is used often.
  int32_t uses_before_superblock = 1000;
  bool step_only = false; // one instruction at a time: the oracle
  // Keep what stores overwrite: see set_store_log(). Without superblocks.
  bool log_stores = false;
  bool log_loads = false; // in the same log: see load_log.h
};

// All registers of a thread but those of x87, which stay in the CPU.
struct ThreadRegisters {
  Registers general;
  uint32_t mxcsr = 0x1F80;
  uint64_t masks[8] = {};
  alignas(64) std::byte vectors[32][64];
};

class Translator final : public Engine {
public:
  Translator(GuestMemory& memory, const TranslatorOptions& options);

  Registers& registers() override { return state_.registers; }
  size_t vector_size() const override { return cpu().xsave_size; }
  void read_vectors(VectorImage image) override;
  void write_vectors(std::span<const std::byte> image) override;
  Stop run(uint64_t limit, FirstStop first = FirstStop::passed) override;
  uint64_t executed() const override { return executed_; }
  InputResult execute_input() override;
  void finish_input(const InputResult& result) override;
  void set_fast_syscall(FastSyscall fast) override { fast_ = fast; }
  void add_stop(GuestAddr address) override;
  void remove_stop(GuestAddr address) override;
  void add_watch(GuestAddr address, uint64_t size, bool reads, bool writes) override;
  void clear_watches() override;
  void invalidate(GuestAddr begin, uint64_t size) override;
  void interrupt(void* ucontext) override;
  void stop_after_fast_call() override;
  bool handle_signal(int signal, siginfo_t* info, void* ucontext) override;
  const Statistics& statistics() const override;

  // From here on: what only this engine has. With another one, hooks are stops, watches are set one by one,
  // and what stores overwrite is found by comparing memory; slower, but the same.

  // Another OS thread goes on with run(): the GS base is each one's own.
  void adopt_host_thread() { asm volatile("rdgsbase %0" : "=r"(loaded_gs_)); }

  // Calls a function of the host before an instruction, every time it is executed, without leaving run().
  // It finds the guest's exact state and clock, and must not change them.
  using Hook = void (*)(void* context, uint64_t pc);
  void set_hook(Hook function, void* context) {
    hook_ = function;
    hook_context_ = context;
  }
  // Each remove takes one add away: several users may want the same address.
  void add_hook(GuestAddr address, const DirectHook& direct = {});
  void remove_hook(GuestAddr address);
  // The next instruction is known to fault. It will not be executed, but it was begun: its hook is called.
  void call_hook_of_fault() { hook_step(state_.registers.rip); }
  // What is executed next has not been looked at, even if the count and the address are those of the last
  // hook.
  void forget_hook() { hook_calls_.last_time = UINT64_MAX; }
  // The next instruction was begun before, and its hook called; it is not called again.
  void pass_hook() {
    hook_calls_.last_time = executed_;
    hook_calls_.last_pc = state_.registers.rip;
  }
  // DirectHook::fast runs, and has not left the guest's FS base and vector registers.
  bool in_fast_hook() const { return state_.in_fast_call == kInFastHook; }
  // It needs the host's, or something else that only DirectHook::function may do.
  void leave_fast_hook();
  // The same from a handler, which has the host's FS base already, and whose context has the vectors.
  void leave_fast_hook(void* ucontext);
  // What it calls then must not throw, but may say so.
  void fail_hook(std::exception_ptr failure) { hook_calls_.failure = std::move(failure); }

  // From a hook: run() stops as if it had been given the limit that ends at this count, at the latest.
  void end_run_at(uint64_t executed) {
    if (executed >= run_target_) return;
    run_target_ = executed;
    run_shortened_ = true;
  }

  // Watches these ranges and no others. Cheaper than clear_watches() and add_watch() if most stay.
  // `trapped`: the CPU's breakpoints are set on them all, and nothing but writes is to be told; where the CPU
  // tells of a write, run() stops after it.
  void set_watches(std::span<const WatchFilter::Watch> watches, bool trapped = false);
  // To be called by the owner's handler of the signal that such a breakpoint raises. False: the write was the
  // host's, or one that run() has stopped before.
  bool handle_write_trap(void* ucontext);

  // With log_stores: where entries go from now on. It must have room for kMostLogEntries for each instruction
  // that run() is allowed, and 256 more. Where single instructions take more room than that, run() stops
  // before its limit, as if it were reached.
  void set_store_log(std::span<StoreLogEntry> log);
  StoreLogEntry* store_log_end() const; // after the last entry

  // A vector register whole: 32 bytes, of which those that the CPU does not have are zero.
  void read_vector(size_t index, std::byte* to) const;
  void write_vector(size_t index, const std::byte* from);

  // The loaded thread's registers, fast: tens of nanoseconds.
  void get_thread(ThreadRegisters& to) const;
  void put_thread(const ThreadRegisters& from);

  // The thread that this engine is given uses x87 already, and the CPU holds its state.
  void expect_x87() { uses_x87_ = true; }
  // False: no code that may use x87 or MMX was executed yet. Then the guest's x87 state is the initial one,
  // and what the CPU holds is nobody's: the host need not keep it.
  bool uses_x87() const { return uses_x87_; }

  void set_step_only(bool on) { options_.step_only = on; }

  const State& state() const { return state_; }
  State& state() { return state_; }
  bool has_stop(GuestAddr address) const { return stops_.count(address.value) != 0; }
  // Host addresses of the code cache, for those who must keep it out of the guest's sight.
  bool owns(uint64_t address) const { return cache_.contains(address); }

private:
  // Full-speed code may run past its budget by at most a superblock; the rest of a limit is stepped.
  static constexpr uint64_t kSlack = 2 * kLongestSuperblock;

  // What to do after an event: go on, or return to the caller of run(). Only for handle_exit(): translated
  // code was entered again, and has come back.
  enum class Next : uint8_t { go_on, stop, entered };

  struct NextEntry {
    bool must_step = false;        // the flags are stale until one more instruction is done
    bool must_check = false;       // the next instruction may touch a watched range
    bool publish_indirect = false; // an indirect branch has missed: its target goes to the table
    uint32_t link = 0;             // a direct exit to be linked to whatever is entered next; 0 if none
  };

  struct InterruptedCode {
    enum class What : uint8_t {
      fault,     // the guest's instruction has faulted
      unfetched, // it has not: the code of `block` cannot all be fetched any more
      written,   // it has not: it has written to a watched range
    } what = What::fault;
    uint64_t pc = 0; // the guest's
    int owed = 0;    // instructions executed and not charged, as Exit::owed
    Fault fault;
    Block* block = nullptr;
  };

  struct HookCalls {
    uint64_t last_time = UINT64_MAX; // the count and the address at which a hook was called last
    uint64_t last_pc = 0;
    std::exception_ptr failure; // what it has thrown
    bool code_left = false;     // the code was not finished: a hook has changed it, or the limit
  };

  Next advance(Stop& stop);

  // Why translated code has come back: see handle_exit.cc.
  using ExitHandler = Next (Translator::*)(Stop& stop, const Exit& exit);
  static const ExitHandler kExitHandlers[];
  Next handle_exit(Stop& stop);
  Next handle_left_hook();
  Next handle_signal(Stop& stop);
  Next handle_direct(Stop& stop, const Exit& exit);
  Next handle_indirect(Stop& stop, const Exit& exit);
  Next handle_limit(Stop& stop, const Exit& exit);
  Next handle_system_call(Stop& stop, const Exit& exit);
  Next handle_input(Stop& stop, const Exit& exit);
  Next handle_emulated(Stop& stop, const Exit& exit);
  Next handle_invalid(Stop& stop, const Exit& exit);
  Next handle_refused(Stop& stop, const Exit& exit);
  Next handle_watch(Stop& stop, const Exit& exit);
  Next handle_stop(Stop& stop, const Exit& exit);
  Next handle_hook(Stop& stop, const Exit& exit);
  Next handle_step(Stop& stop, const Exit& exit);
  Next handle_changed(Stop& stop, const Exit& exit);
  void count_to_exit(int owed);

  Next step(Stop& stop, uint64_t most);
  Next no_code(Stop& stop);
  Next bad_target(Stop& stop);
  Next emulate(Stop& stop, const Instruction& instruction);
  Next emulate_popf(Stop& stop, const Instruction& instruction);
  Next emulate_pushf(Stop& stop, const Instruction& instruction);
  Next emulate_xsave(Stop& stop, const Instruction& instruction);
  Next emulate_fxsave(Stop& stop, const Instruction& instruction);
  Next emulate_x87_store(Stop& stop, const Instruction& instruction);
  Next emulate_interrupt(Stop& stop, const Instruction& instruction);
  Next trap_after(Stop& stop, const Instruction& instruction, uint8_t vector);
  void pass_emulated(uint64_t next_pc);
  Next raise(Stop& stop, int signal, int code, uint64_t address, uint64_t trap, uint64_t error);
  bool can_store(uint64_t address, size_t size);
  Next execute_itself(Stop& stop, const Instruction& instruction);
  Next store_emulated(Stop& stop, const Instruction& instruction, uint64_t address, const void* bytes,
                      size_t size);
  bool watched(const Instruction& instruction, Access& access);
  void restore_spilled(const MapEntry& entry, long long* gregs) const;
  void leave_for_fault(long long* gregs);
  void forget_unwatched_code();
  void log_accesses_of(const Instruction& instruction);
  void log_store_of(uint64_t address, size_t size);
  void log_load_of(uint64_t address, size_t size);
  void leave_room_in_log();

  // What is known about an address within translated code; null if nothing.
  const MapEntry* map_entry(uint64_t host_pc);
  // Null: a superblock is to be recorded from here, or there is no code.
  Block* block_for(uint64_t pc, uint64_t remaining);
  Block* private_block(uint64_t pc, uint64_t most);
  void find_path(uint64_t pc, size_t most);
  Block& make(Flavour flavour, std::span<const PathStep> path, PathEnd end, CodeTrust trust);
  int64_t budget_for(uint64_t remaining) const;
  Next record_superblock(Stop& stop);
  // Where translated code goes on after a system call that needed no host; 0 if it has to leave.
  uint64_t run_fast_syscall(const Exit& exit);
  // The same after a single step.
  uint64_t fast_step(const Exit& exit);
  static uint64_t fast_entry(void* translator);
  // What the instruction syscall does to registers; the functions of the vsyscall page do not.
  static void note_call(Registers& regs) {
    if (is_in_vsyscall_page(regs.rip)) return;
    regs.gpr[RCX] = regs.rip;
    regs.gpr[R11] = regs.flags();
  }
  static uint64_t hook_entry(void* translator);
  static uint64_t fast_hook_entry(void* translator);
  uint64_t call_hook();
  void call_hook_of(const DirectHook& direct, uint64_t pc);
  bool hook_step(uint64_t pc);
  void count_to_hook(const Exit& exit);
  uint64_t after_hook(const Exit& exit, uint64_t generation);
  void put_x87(std::span<const std::byte> image, uint64_t used);
  void put_vectors(std::span<const std::byte> image, uint64_t used);
  void enter(uint8_t* place, int64_t budget, int64_t already_charged);

  GuestMemory& memory_;
  TranslatorOptions options_;
  CodeCache cache_;
  State& state_;
  uint64_t executed_ = 0;
  int64_t budget_set_ = 0;
  volatile bool interrupted_ = false;
  bool uses_x87_ = false;
  bool passes_stop_ = false;       // nothing was executed since run() began, and a stop here is passed
  bool run_shortened_ = false;     // by a hook
  bool fast_syscall_done_ = false; // the system call that guest code was left at is done
  NextEntry next_entry_;
  InterruptedCode interrupted_code_;
  HookCalls hook_calls_;
  FastSyscall fast_;
  uint64_t run_target_ = 0;
  uint64_t loaded_gs_ = 0;
  Instruction current_input_; // the instruction that run() stopped before
  StopSet stops_;
  HookSet hooks_;
  Hook hook_ = nullptr;
  void* hook_context_ = nullptr;
  StoreLogEntry* log_end_ = nullptr;
  PcTable<void> hot_;                           // heads of superblocks that are to be recorded
  std::unordered_set<uint64_t> changing_pages_; // whose code is compared before it is used
  WatchFilter& watches_;
  uint64_t reported_access_ = UINT64_MAX; // the time at which run() stopped before an access: not again
  Path path_;
  std::vector<PathStep> superblock_; // being recorded
  uint64_t translate_ticks_ = 0;
  uint64_t started_ticks_ = 0;
  uint64_t started_ns_ = 0;
  mutable Statistics statistics_;
};

} // namespace rdb::engine
