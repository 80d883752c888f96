// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop between guest and host. An exact stop after N instructions is made of two parts: full speed with a
// budget that ends a little before N, then single steps.
#include "rdbtool/engine/translator.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/operand.h"

#include <algorithm>
#include <chrono>
#include <cpuid.h>
#include <cstring>
#include <immintrin.h>
#include <ucontext.h>
#include <utility>

namespace rdb::engine {
namespace {

constexpr size_t kLongestBasic = 48;
constexpr size_t kLongestTrace = 128;
constexpr size_t kLongestUnit = 32;
constexpr size_t kUnrolledTrace = 64;
constexpr size_t kShortTrace = 16; // shorter ones do not stop at another trace's head

// Full-speed code may run past its budget by at most a trace; the rest of a limit is stepped.
constexpr uint64_t kSlack = 2 * kLongestTrace;
// Below 2^32, so that a budget that is not negative has an upper half of zero.
constexpr int64_t kLargestBudget = 1ll << 31;
uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Adds the time until its end to a sum of CPU ticks: a clock that costs nothing beside a translation.
class Timed {
public:
  explicit Timed(uint64_t& sum) : sum_(sum), start_(__rdtsc()) {}
  ~Timed() { sum_ += __rdtsc() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

private:
  uint64_t& sum_;
  uint64_t start_;
};

// The state that programs begin with.
void reset_x87() {
  alignas(16) std::byte legacy[512];
  asm volatile("fxsave64 %0" : "=m"(legacy));
  const uint16_t control = 0x37F;
  std::memset(legacy, 0, 24);
  std::memset(legacy + 32, 0, 128);
  std::memcpy(legacy, &control, sizeof control);
  asm volatile("fxrstor64 %0" : : "m"(legacy));
}

} // namespace

Translator::Translator(GuestMemory& memory, const TranslatorOptions& options)
    : memory_(memory), options_(options),
      cache_(options.cache_place, options.cache_size, options.table_place), state_(cache_.state()),
      watches_(cache_.watches()), started_ticks_(__rdtsc()), started_ns_(nanoseconds()) {
  cache_.count_uses_to(options.traces ? options.uses_before_trace : INT32_MAX);
  state_.quick_entry = &quick_entry;
  state_.quick_context = this;
  state_.hook_entry = &hook_entry;
  state_.quick_hook_entry = &quick_hook_entry;
}

Stop Translator::run(uint64_t limit) {
  Stop stop;
  run_target_ = limit > UINT64_MAX - executed_ ? UINT64_MAX : executed_ + limit;
  run_shortened_ = false;
  first_ = true;
  pending_link_ = 0;
  for (;;) {
    if (!must_step_) {
      if (interrupted_) {
        interrupted_ = false;
        stop.reason = StopReason::interrupted;
        return stop;
      }
      if (executed_ >= run_target_) {
        stop.reason = StopReason::limit;
        return stop;
      }
    }
    if (advance(stop) == Next::stop) return stop;
  }
}

Translator::Next Translator::advance(Stop& stop) {
  uint64_t pc = state_.registers.rip;
  bool at_stop = !stops_.empty() && stops_.count(pc);
  if (at_stop && !first_) {
    stop.reason = StopReason::address;
    return Next::stop;
  }
  uint64_t remaining = run_target_ - executed_;
  bool steps_for_watches = must_check_ || (!watches_.empty() && !cpu().bmi2);
  if (must_step_ || at_stop || options_.step_only || steps_for_watches || remaining <= kSlack) {
    pending_link_ = 0;
    bool single = options_.step_only || options_.log_stores || !watches_.empty();
    return step(stop, single ? 1 : std::max<uint64_t>(remaining, 1));
  }
  first_ = false;
  if (cache_.make_room()) pending_link_ = 0;
  Block* block = block_for(pc, remaining);
  if (block == nullptr) {
    pending_link_ = 0;
    if (hot_.find(pc) != nullptr) return record_trace(stop);
    return no_code(stop);
  }
  if (pending_link_ != 0) {
    cache_.link(pending_link_, *block);
    pending_link_ = 0;
  } else if (pending_indirect_) {
    cache_.publish_indirect(*block);
  }
  pending_indirect_ = false;
  enter(block->begin, budget_for(remaining), 0);
  return take_exit(stop, state_.exit_number);
}

int64_t Translator::budget_for(uint64_t remaining) const {
  return static_cast<int64_t>(std::min<uint64_t>(remaining - kSlack, kLargestBudget));
}

// Runs translated code from `place` until it comes back.
void Translator::enter(uint8_t* place, int64_t budget, int64_t already_charged) {
  Registers& regs = state_.registers;
  if (regs.gs_base != loaded_gs_) {
    asm volatile("wrgsbase %0" : : "r"(regs.gs_base));
    loaded_gs_ = regs.gs_base;
  }
  state_.resume = reinterpret_cast<uint64_t>(place);
  budget_set_ = budget;
  state_.budget = budget - already_charged;
  // From here on interrupt() takes effect through the budget.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (interrupted_) state_.budget -= kInterruptBias;
  ++statistics_.host_entries;
  cache_.glue().enter();
  asm volatile("rdgsbase %0" : "=r"(loaded_gs_));
  regs.gs_base = loaded_gs_;
}

Translator::Next Translator::take_exit(Stop& stop, uint32_t number) {
  Registers& regs = state_.registers;
  for (;;) {
    if (number == kExitHooked) {
      if (hook_failure_) std::rethrow_exception(std::exchange(hook_failure_, nullptr));
      return Next::go_on;
    }
    const Exit& exit = cache_.exit(number);
    int owed = number == kExitFault ? fault_owed_ : exit.owed;
    executed_ += static_cast<uint64_t>(budget_set_ - without_bias(state_.budget) + owed);
    if (number == kExitFault) {
      regs.rip = fault_pc_;
      if (written_) {
        written_ = false;
        find_basic(memory_, stops_, fault_pc_, 1, path_);
        RDB_CHECK(!path_.steps.empty());
        regs.rip = path_.steps[0].next;
        stop.reason = StopReason::written;
        stop.access = {GuestAddr(fault_pc_), 0, true};
        return Next::stop;
      }
      stop.reason = StopReason::fault;
      stop.fault = pending_fault_;
      return Next::stop;
    }
    switch (exit.kind) {
    case ExitKind::direct:
      regs.rip = exit.target;
      pending_link_ = exit.branch != 0 ? number : 0;
      return Next::go_on;
    case ExitKind::stop:
      regs.rip = exit.target;
      return Next::go_on;
    case ExitKind::watch:
      regs.rip = exit.target;
      if (exit.access_size != 0 &&
          !watches_.wants(state_.watched_address, exit.access_size, exit.reads, exit.writes)) {
        enter(cache_.at(exit.resume), without_bias(state_.budget) - exit.owed, -exit.owed);
        number = state_.exit_number;
        continue;
      }
      must_check_ = true;
      return Next::go_on;
    case ExitKind::indirect:
      regs.rip = state_.indirect_target;
      pending_indirect_ = number == kExitIndirectMiss;
      ++statistics_.indirect_misses;
      return Next::go_on;
    case ExitKind::hot:
    case ExitKind::limit:
    case ExitKind::limit_or_hot: {
      regs.rip = exit.target;
      bool hot = exit.kind == ExitKind::hot ||
                 (exit.kind == ExitKind::limit_or_hot && !interrupted_ && without_bias(state_.budget) >= 0);
      if (hot && options_.traces) {
        hot_.set(exit.block->pc, this);
        cache_.unlink(*exit.block);
      }
      uint64_t remaining = run_target_ - executed_;
      if (interrupted_ || remaining <= 2 * kSlack) {
        // Also where the flags are good: a budget smaller than the block would bring it back here for ever.
        must_step_ = true;
        return Next::go_on;
      }
      enter(cache_.at(exit.resume), budget_for(remaining), -exit.owed);
      number = state_.exit_number;
      continue;
    }
    case ExitKind::hook:
      bug("a hook was left for the host");
    case ExitKind::step:
      regs.rip = exit.target;
      must_step_ = true;
      return Next::go_on;
    case ExitKind::changed:
      regs.rip = exit.target;
      cache_.kill(*exit.block);
      return Next::go_on;
    case ExitKind::system_call:
      regs.rip = exit.target;
      if (quick_done_) {
        quick_done_ = false;
        return Next::go_on;
      }
      regs.gpr[RCX] = regs.rip;
      regs.gpr[R11] = regs.flags();
      stop.reason = StopReason::system_call;
      return Next::stop;
    case ExitKind::input:
      regs.rip = exit.target;
      current_input_ = *exit.instruction;
      stop.reason = StopReason::input;
      stop.input = exit.instruction->input;
      return Next::stop;
    case ExitKind::emulated:
      regs.rip = exit.target;
      if (options_.log_stores) log_stores_of(*exit.instruction);
      return emulate(stop, *exit.instruction);
    case ExitKind::invalid:
      regs.rip = exit.target;
      return raise(stop, SIGILL, ILL_ILLOPN, exit.target, 6, 0);
    case ExitKind::refused:
      regs.rip = exit.target;
      limit("instruction {} at {:#x} ({})", exit.instruction->refusal, exit.target,
            disassemble(*exit.instruction));
    }
  }
}

uint64_t Translator::hook_entry(void* self) {
  return static_cast<Translator*>(self)->call_hook();
}

// Translated code has come to a hook, and the guest's state is saved. Where to go on; 0 to leave the code.
uint64_t Translator::call_hook() {
  Registers& regs = state_.registers;
  const Exit& exit = cache_.exit(state_.exit_number);
  // The budget in memory stays as it is: what is counted so far is taken from where it began.
  int64_t budget = without_bias(state_.budget);
  executed_ += static_cast<uint64_t>(budget_set_ - budget + exit.owed);
  budget_set_ = budget - exit.owed;
  regs.rip = exit.target;
  if (hooked_at_ != executed_ || hooked_pc_ != exit.target) {
    hooked_at_ = executed_;
    hooked_pc_ = exit.target;
    asm volatile("rdgsbase %0" : "=r"(regs.gs_base));
    ++statistics_.host_entries;
    uint64_t generation = cache_.generation();
    try {
      if (exit.hook != nullptr)
        exit.hook->direct.function(hook_context_, exit.hook->direct.argument, exit.target);
      else
        hook_(hook_context_, exit.target);
    } catch (...) {
      // It cannot pass translated code: the host goes on with it.
      hook_failure_ = std::current_exception();
    }
    // The code from here on may be another now: flushed with its exits, or dead.
    if (hook_failure_ || cache_.generation() != generation || exit.block->dead || run_shortened_) {
      run_shortened_ = false;
      left_at_hook_ = true;
      state_.exit_number = kExitHooked;
      return 0;
    }
  }
  return reinterpret_cast<uint64_t>(cache_.at(exit.resume));
}

// Code that comes back to the host at its end: one instruction, or straight code of at most `most`.
Block* Translator::private_block(uint64_t pc, uint64_t most) {
  if (most >= kLongestUnit) {
    if (Block* unit = cache_.find_unit(pc)) return unit;
  }
  Block* block = most >= kLongestUnit ? nullptr : cache_.find_step(pc);
  if (block != nullptr) return block;
  Timed timed(translate_ticks_);
  find_path(pc, most >= kLongestUnit ? kLongestUnit : 1);
  if (path_.steps.empty()) return nullptr;
  return &make(most >= kLongestUnit ? Flavour::unit : Flavour::step, path_.steps, path_.end, path_.trust);
}

// Finds the straight code at pc, and makes sure that changes of it will be noticed.
void Translator::find_path(uint64_t pc, size_t most) {
  find_basic(memory_, stops_, pc, most, path_);
  std::vector<PathStep>& steps = path_.steps;
  if (path_.x87 && !uses_x87_) {
    uses_x87_ = true;
    reset_x87();
  }
  uint64_t last_page = 0;
  for (const PathStep& s : steps) {
    for (uint64_t page : {s.instruction.pc >> 12, (s.instruction.end() - 1) >> 12}) {
      if (page == last_page) continue;
      last_page = page;
      if (!cache_.has_page(page)) {
        if (memory_.watch_code_page(GuestAddr(page << 12)) == GuestMemory::CodeWatch::compare)
          changing_pages_.insert(page);
        else
          changing_pages_.erase(page);
      }
      if (!changing_pages_.empty() && changing_pages_.count(page)) path_.trust = CodeTrust::compared;
    }
  }
  if (path_.trust == CodeTrust::watched) return;
  auto store = std::find_if(steps.begin(), steps.end(), [](const PathStep& s) {
    return store_form(s.instruction).kind != StoreForm::Kind::none;
  });
  if (store == steps.end() || store + 1 == steps.end()) return;
  steps.erase(store + 1, steps.end());
  path_.end = PathEnd::goes_on;
}

Block& Translator::make(Flavour flavour, std::span<const PathStep> path, PathEnd end, CodeTrust trust) {
  statistics_.translated += path.size();
  return translate(cache_, path, flavour, end, hooks_, trust);
}

Translator::Next Translator::step(Stop& stop, uint64_t most) {
  uint64_t pc = state_.registers.rip;
  cache_.make_room();
  Block* block = private_block(pc, most);
  if (block == nullptr) return no_code(stop);
  must_check_ = false;
  if (!watches_.empty() && executed_ != reported_access_) {
    find_basic(memory_, stops_, pc, 1, path_);
    bool told = watches_.trapped() && !path_.steps.empty() && write_can_trap(path_.steps[0].instruction);
    if (!told && !path_.steps.empty() && watched(path_.steps[0].instruction, stop.access)) {
      stop.reason = StopReason::access;
      reported_access_ = executed_;
      must_check_ = true; // also where nothing is to be said next time: the code would leave again
      return Next::stop;
    }
  }
  if (options_.log_stores) {
    find_basic(memory_, stops_, pc, 1, path_);
    log_stores_of(path_.steps[0].instruction);
  }
  first_ = false;
  must_step_ = false;
  // No charge stands in such a block: an interrupt is noticed when it comes back.
  enter(block->begin, 0, 0);
  Next next = take_exit(stop, state_.exit_number);
  pending_link_ = 0;
  pending_indirect_ = false;
  return next;
}

Block* Translator::block_for(uint64_t pc, uint64_t remaining) {
  if (Block* block = cache_.find(pc)) return block;
  if (hot_.find(pc) != nullptr) {
    if (remaining > 2 * kSlack) return nullptr;
    hot_.set(pc, nullptr); // no room to record a path now: let it become hot again
  }
  Timed timed(translate_ticks_);
  find_path(pc, kLongestBasic);
  if (path_.steps.empty()) return nullptr;
  ++statistics_.blocks;
  return &make(Flavour::basic, path_.steps, path_.end, path_.trust);
}

// The guest goes where it must not: the fault that the kernel would raise for the fetch.
Translator::Next Translator::no_code(Stop& stop) {
  uint64_t address = path_.fault_address;
  uint8_t probe;
  bool mapped = memory_.read(GuestAddr(address), &probe, 1) == 1;
  return raise(stop, SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, address, 14, mapped ? 0x15 : 0x14);
}

Translator::Next Translator::raise(Stop& stop, int signal, int code, uint64_t address, uint64_t trap,
                                   uint64_t error) {
  stop.reason = StopReason::fault;
  stop.fault = {};
  stop.fault.signal = signal;
  stop.fault.info.si_signo = signal;
  stop.fault.info.si_code = code;
  stop.fault.info.si_addr = reinterpret_cast<void*>(address);
  stop.fault.trap_number = trap;
  stop.fault.error_code = error;
  return Next::stop;
}

// Goes along the path that the guest takes from a hot block, and translates it as one piece.
Translator::Next Translator::record_trace(Stop& stop) {
  uint64_t head = state_.registers.rip;
  std::vector<PathStep>& trace = trace_;
  trace.clear();
  std::vector<uint64_t> returns; // addresses behind calls that the trace has gone into
  bool loops = false;
  // What is executed while recording is executed unchecked, but for single instructions.
  const size_t unit = watches_.empty() ? kLongestUnit : 1;
  while (trace.size() + kLongestUnit <= kLongestTrace) {
    uint64_t pc = state_.registers.rip;
    if (interrupted_ || (!trace.empty() && !stops_.empty() && stops_.count(pc))) break;
    find_path(pc, unit);
    if (path_.steps.empty() || path_.trust == CodeTrust::compared) break;
    size_t begin = trace.size();
    trace.insert(trace.end(), path_.steps.begin(), path_.steps.end());
    if (path_.steps.back().instruction.kind >= Kind::system_call) break; // the host's turn: the trace's end
    left_at_hook_ = false;
    Next next = step(stop, unit);
    if (next == Next::stop) return next; // a fault: the path is not worth keeping
    if (left_at_hook_) return next;      // only part of the path was executed
    uint64_t after = state_.registers.rip;
    trace.back().next = after;
    const Instruction last = trace.back().instruction;
    if (after == head) {
      loops = true;
      break;
    }
    if (last.kind == Kind::call || last.kind == Kind::call_indirect) returns.push_back(last.end());
    if (last.kind == Kind::ret) {
      if (returns.empty() || returns.back() != after) break;
      returns.pop_back();
    }
    // Computed jumps have many targets; those of the procedure linkage table have one.
    if (last.kind == Kind::jump_indirect && !last.rip_relative) break;
    Block* there = cache_.find(after);
    if (there != nullptr && there->flavour == Flavour::trace && trace.size() >= kShortTrace) break;
    bool seen = false;
    for (size_t i = 0; i <= begin; ++i)
      seen |= trace[i].instruction.pc == after;
    if (seen) break;
  }
  hot_.set(head, nullptr);
  if (trace.empty()) return Next::go_on;
  if (loops) {
    size_t once = trace.size();
    while (trace.size() + once <= kUnrolledTrace)
      for (size_t i = 0; i < once; ++i)
        trace.push_back(trace[i]);
  }
  cache_.make_room();
  Timed timed(translate_ticks_);
  make(Flavour::trace, trace, PathEnd::goes_on, CodeTrust::watched);
  ++statistics_.traces;
  return Next::go_on;
}

void Translator::add_stop(GuestAddr address) {
  stops_.insert(address.value);
  cache_.invalidate(address.value, address.value + 1);
}

void Translator::add_hook(GuestAddr address, const DirectHook& direct) {
  HookUse& use = hooks_[address.value];
  // Once it was shared, nobody knows whose hook goes first.
  use.direct = use.users == 0 ? direct : DirectHook{};
  if (++use.users <= 2) cache_.invalidate(address.value, address.value + 1);
}

void Translator::remove_hook(GuestAddr address) {
  auto found = hooks_.find(address.value);
  if (found == hooks_.end() || --found->second.users != 0) return;
  hooks_.erase(found);
  cache_.invalidate(address.value, address.value + 1);
}

void Translator::remove_stop(GuestAddr address) {
  stops_.erase(address.value);
  cache_.invalidate(address.value, address.value + 1);
}

void Translator::invalidate(GuestAddr begin, uint64_t size) {
  if (size == 0) return;
  cache_.invalidate(begin.value, begin.value + size);
  ++statistics_.flushes;
}

const MapEntry* Translator::map_entry(uint64_t host_pc) {
  Block* block = cache_.block_at(host_pc);
  if (block == nullptr) return nullptr;
  auto offset = static_cast<uint32_t>(reinterpret_cast<uint8_t*>(host_pc) - block->begin);
  auto after = std::upper_bound(block->map.begin(), block->map.end(), offset,
                                [](uint32_t o, const MapEntry& e) { return o < e.offset(); });
  return after == block->map.begin() ? nullptr : &*std::prev(after);
}

void Translator::interrupt(void* ucontext) {
  interrupted_ = true;
  state_.budget -= kInterruptBias;
  if (ucontext == nullptr) return;
  // Where translated code has the budget in a register, the change in memory is about to be overwritten.
  greg_t* gregs = static_cast<ucontext_t*>(ucontext)->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  const MapEntry* entry = cache_.contains(pc) ? map_entry(pc) : nullptr;
  if (entry == nullptr) return;
  if (entry->spill() & kBudgetInRcx) gregs[REG_RCX] -= kInterruptBias;
  if (entry->spill() & kBudgetInRax) gregs[REG_RAX] -= kInterruptBias;
}

bool Translator::handle_signal(int signal, siginfo_t* info, void* ucontext) {
  auto* context = static_cast<ucontext_t*>(ucontext);
  greg_t* gregs = context->uc_mcontext.gregs;
  auto pc = static_cast<uint64_t>(gregs[REG_RIP]);
  if (!cache_.contains(pc)) return false;
  const MapEntry* found = map_entry(pc);
  if (found == nullptr) return false;
  const MapEntry& entry = *found;
  restore_spilled(entry, gregs);
  fault_pc_ = entry.pc();
  fault_owed_ = entry.owed();
  pending_fault_.signal = signal;
  pending_fault_.info = *info;
  pending_fault_.trap_number = static_cast<uint64_t>(gregs[REG_TRAPNO]);
  pending_fault_.error_code = static_cast<uint64_t>(gregs[REG_ERR]);
  // An instruction's own address in siginfo is the guest's, too.
  if (reinterpret_cast<uint64_t>(info->si_addr) == pc)
    pending_fault_.info.si_addr = reinterpret_cast<void*>(entry.pc());
  leave_for_fault(gregs);
  return true;
}

void Translator::restore_spilled(const MapEntry& entry, greg_t* gregs) const {
  // Order of Gpr to the order of gregs.
  static constexpr int kGreg[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  if (entry.spill() & kSpillRcx) gregs[REG_RCX] = static_cast<greg_t>(state_.spill_rcx);
  if (entry.spill() & kSpillRax) gregs[REG_RAX] = static_cast<greg_t>(state_.spill_rax);
  if (entry.spill() & kSpillScratch)
    gregs[kGreg[entry.scratch()]] = static_cast<greg_t>(state_.spill_scratch);
}

void Translator::leave_for_fault(greg_t* gregs) {
  state_.exit_number = kExitFault;
  gregs[REG_RIP] = reinterpret_cast<greg_t>(cache_.glue().leave);
}

const Statistics& Translator::statistics() const {
  uint64_t ticks = __rdtsc() - started_ticks_;
  double per_tick =
      ticks == 0 ? 0 : static_cast<double>(nanoseconds() - started_ns_) / static_cast<double>(ticks);
  statistics_.translate_ns = static_cast<uint64_t>(static_cast<double>(translate_ticks_) * per_tick);
  statistics_.cache_bytes = cache_.used();
  statistics_.peak_cache_bytes = cache_.peak();
  return statistics_;
}

Engine::InputResult Translator::execute_input() {
  InputResult result;
  const Registers& regs = state_.registers;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  unsigned long long wide = 0;
  switch (current_input_.input) {
  case InputKind::rdtsc:
    asm volatile("rdtsc" : "=a"(a), "=d"(d));
    break;
  case InputKind::rdtscp:
    asm volatile("rdtscp" : "=a"(a), "=d"(d), "=c"(c));
    break;
  case InputKind::cpuid:
    __cpuid_count(static_cast<uint32_t>(regs.gpr[RAX]), static_cast<uint32_t>(regs.gpr[RCX]), a, b, c, d);
    break;
  case InputKind::xgetbv:
    asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(static_cast<uint32_t>(regs.gpr[RCX])));
    break;
  case InputKind::rdrand:
    asm volatile("rdrand %0; setc %1" : "=r"(wide), "=qm"(result.carry));
    result.rax = wide;
    return result;
  case InputKind::rdseed:
    asm volatile("rdseed %0; setc %1" : "=r"(wide), "=qm"(result.carry));
    result.rax = wide;
    return result;
  case InputKind::rdpid:
    asm volatile("rdpid %0" : "=r"(wide));
    result.rax = wide;
    return result;
  case InputKind::none:
    bug("no input instruction is waiting");
  }
  result.rax = a;
  result.rbx = b;
  result.rcx = c;
  result.rdx = d;
  return result;
}

void Translator::finish_input(const InputResult& result) {
  Registers& regs = state_.registers;
  constexpr uint64_t kArithmetic = 0x8D5; // OF SF ZF AF PF CF
  switch (current_input_.input) {
  case InputKind::cpuid:
    regs.gpr[RBX] = result.rbx;
    [[fallthrough]];
  case InputKind::rdtscp:
    regs.gpr[RCX] = result.rcx;
    [[fallthrough]];
  case InputKind::rdtsc:
  case InputKind::xgetbv:
    regs.gpr[RAX] = result.rax;
    regs.gpr[RDX] = result.rdx;
    break;
  case InputKind::rdrand:
  case InputKind::rdseed:
    regs.rflags = (regs.rflags & ~kArithmetic) | (result.carry ? 1 : 0);
    [[fallthrough]];
  case InputKind::rdpid: {
    uint8_t modrm = current_input_.bytes[current_input_.modrm_offset];
    uint64_t& destination = regs.gpr[(modrm & 7) | (current_input_.rex & 1) << 3];
    if (current_input_.input == InputKind::rdpid || current_input_.rex & 8)
      destination = result.rax;
    else if (current_input_.operand16)
      destination = (destination & ~0xFFFFull) | (result.rax & 0xFFFF);
    else
      destination = static_cast<uint32_t>(result.rax);
    break;
  }
  case InputKind::none:
    bug("no input instruction is waiting");
  }
  regs.rip = current_input_.end();
  ++executed_;
  current_input_ = {};
}

} // namespace rdb::engine
