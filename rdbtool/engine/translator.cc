// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop between guest and host. An exact stop after N instructions is made of two parts: full speed with a
// budget that ends a little before N, then single steps.
#include "rdbtool/engine/translator.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/interrupt_bias.h"
#include "rdbtool/engine/scoped_ticks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace rdb::engine {
namespace {

constexpr size_t kLongestBasic = 48;

// Below 2^32, so that a budget that is not negative has an upper half of zero.
constexpr int64_t kLargestBudget = 1ll << 31;

uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

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
  cache_.count_uses_to(options.superblocks ? options.uses_before_superblock : INT32_MAX);
  state_.fast_entry = &fast_entry;
  state_.fast_context = this;
  state_.hook_entry = &hook_entry;
  state_.fast_hook_entry = &fast_hook_entry;
  state_.logs_loads = options.log_loads;
}

Stop Translator::run(uint64_t limit, FirstStop first) {
  Stop stop;
  run_target_ = limit > UINT64_MAX - executed_ ? UINT64_MAX : executed_ + limit;
  run_shortened_ = false;
  passes_stop_ = first == FirstStop::passed;
  next_entry_.link = 0;
  for (;;) {
    if (!next_entry_.must_step) {
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
  if (at_stop && !passes_stop_) {
    stop.reason = StopReason::address;
    return Next::stop;
  }
  uint64_t remaining = run_target_ - executed_;
  bool steps_for_watches = next_entry_.must_check || (!watches_.empty() && !cpu().bmi2);
  if (next_entry_.must_step || at_stop || options_.step_only || steps_for_watches || remaining <= kSlack) {
    next_entry_.link = 0;
    bool single = options_.step_only || options_.log_stores || !watches_.empty();
    return step(stop, single ? 1 : std::max<uint64_t>(remaining, 1));
  }
  passes_stop_ = false;
  if (cache_.make_room()) next_entry_.link = 0;
  Block* block = block_for(pc, remaining);
  if (block == nullptr) {
    next_entry_.link = 0;
    if (hot_.find(pc) != nullptr) return record_superblock(stop);
    return no_code(stop);
  }
  if (next_entry_.link != 0) {
    cache_.link(next_entry_.link, *block);
    next_entry_.link = 0;
  } else if (next_entry_.publish_indirect) {
    cache_.publish_indirect(*block);
  }
  next_entry_.publish_indirect = false;
  enter(block->begin, budget_for(remaining), 0);
  return handle_exit(stop);
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
  cache_.context_switch().enter();
  asm volatile("rdgsbase %0" : "=r"(loaded_gs_));
  regs.gs_base = loaded_gs_;
}

uint64_t Translator::hook_entry(void* self) {
  return static_cast<Translator*>(self)->call_hook();
}

void Translator::call_hook_of(const DirectHook& direct, uint64_t pc) {
  if (direct.function != nullptr)
    direct.function(hook_context_, direct.argument, pc);
  else
    hook_(hook_context_, pc);
}

// Translated code has come to a hook, and the guest's state is saved. Where to go on; 0 to leave the code.
uint64_t Translator::call_hook() {
  const Exit& exit = cache_.exit(state_.exit_number);
  count_to_hook(exit);
  if (hook_calls_.last_time != executed_ || hook_calls_.last_pc != exit.target) {
    hook_calls_.last_time = executed_;
    hook_calls_.last_pc = exit.target;
    asm volatile("rdgsbase %0" : "=r"(state_.registers.gs_base));
    ++statistics_.host_entries;
    uint64_t generation = cache_.generation();
    try {
      call_hook_of(exit.hook != nullptr ? exit.hook->direct : DirectHook{}, exit.target);
    } catch (...) {
      // It cannot pass translated code: the host goes on with it.
      hook_calls_.failure = std::current_exception();
    }
    return after_hook(exit, generation);
  }
  return reinterpret_cast<uint64_t>(cache_.at(exit.resume));
}

// The code after the hook may have changed meanwhile: flushed with its exits, or dead.
uint64_t Translator::after_hook(const Exit& exit, uint64_t generation) {
  if (!hook_calls_.failure && cache_.generation() == generation && !exit.block->dead && !run_shortened_)
    return reinterpret_cast<uint64_t>(cache_.at(exit.resume));
  run_shortened_ = false;
  hook_calls_.code_left = true;
  state_.exit_number = kExitHooked;
  return 0;
}

// Before the access of a single step is looked at: its hook comes first, as it does in longer code. False: it
// has changed the code, the run or what is watched.
bool Translator::hook_step(uint64_t pc) {
  auto found = hooks_.find(pc);
  if (found == hooks_.end() || (hook_calls_.last_time == executed_ && hook_calls_.last_pc == pc)) return true;
  hook_calls_.last_time = executed_;
  hook_calls_.last_pc = pc;
  uint64_t generation = cache_.generation();
  call_hook_of(found->second.direct, pc);
  if (cache_.generation() == generation && !run_shortened_) return true;
  run_shortened_ = false;
  hook_calls_.code_left = true;
  return false;
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
  log_line(Topic::engine, "translates {} instructions at {:#x}", path.size(), path[0].instruction.pc);
  return translate(cache_, path, flavour, end, hooks_, trust);
}

Translator::Next Translator::step(Stop& stop, uint64_t most) {
  uint64_t pc = state_.registers.rip;
  if ((!watches_.empty() || options_.log_stores) && !hook_step(pc)) return Next::go_on;
  cache_.make_room();
  Block* block = private_block(pc, most);
  if (block == nullptr) return no_code(stop);
  next_entry_.must_check = false;
  if (!watches_.empty() && executed_ != reported_access_) {
    find_basic(memory_, stops_, pc, 1, path_);
    bool told = watches_.trapped() && !path_.steps.empty() && write_can_trap(path_.steps[0].instruction);
    if (!told && !path_.steps.empty() && watched(path_.steps[0].instruction, stop.access)) {
      stop.reason = StopReason::access;
      reported_access_ = executed_;
      next_entry_.must_check = true; // also where nothing is to be said next time: the code would leave again
      return Next::stop;
    }
  }
  if (options_.log_stores) {
    find_basic(memory_, stops_, pc, 1, path_);
    const Instruction& instruction = path_.steps[0].instruction;
    if (instruction.kind != Kind::emulated) log_accesses_of(instruction); // else when it is carried out
  }
  passes_stop_ = false;
  next_entry_.must_step = false;
  // No charge stands in such a block: an interrupt is noticed when it comes back.
  enter(block->begin, 0, 0);
  Next next = handle_exit(stop);
  next_entry_.link = 0;
  next_entry_.publish_indirect = false;
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
  // The kernel looks at the address by itself, and keeps no trap of it.
  if (is_in_vsyscall_page(address)) return raise(stop, SIGSEGV, SI_KERNEL, 0, 0, 0);
  // No branch goes there, but a return from a signal handler does.
  if (!is_canonical(address)) return raise(stop, SIGSEGV, SI_KERNEL, 0, kProtectionFault, 0);
  uint8_t probe;
  bool mapped = memory_.read(GuestAddr(address), &probe, 1) == 1;
  return raise(stop, SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, address, 14, mapped ? 0x15 : 0x14);
}

// An indirect branch has gone to an address that there cannot be. The CPU does not get that far: the fault is
// the branch's, which has changed no register. (Here a call has pushed its return address all the same.)
Translator::Next Translator::bad_target(Stop& stop) {
  Registers& regs = state_.registers;
  const MapEntry* entry = map_entry(reinterpret_cast<uint64_t>(cache_.at(state_.indirect_from)));
  RDB_CHECK(entry != nullptr);
  regs.rip = entry->pc();
  std::optional<Instruction> branch = instruction_at(memory_, regs.rip);
  RDB_CHECK(branch);
  if (branch->kind == Kind::ret) regs.gpr[RSP] -= 8u + branch->pop_bytes;
  if (branch->kind == Kind::call_indirect) regs.gpr[RSP] += 8;
  --executed_;
  return raise(stop, SIGSEGV, SI_KERNEL, 0, kProtectionFault, 0);
}

Translator::Next Translator::raise(Stop& stop, int signal, int code, uint64_t address, uint64_t trap,
                                   uint64_t error) {
  state_.registers.rflags &= ~Registers::kResume;
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

void Translator::add_stop(GuestAddr address) {
  stops_.insert(address.value);
  cache_.invalidate_instruction(address.value);
}

void Translator::add_hook(GuestAddr address, const DirectHook& direct) {
  HookUse& use = hooks_[address.value];
  // Once it was shared, nobody knows whose hook goes first.
  use.direct = use.users == 0 ? direct : DirectHook{};
  if (++use.users <= 2) cache_.invalidate_instruction(address.value);
}

void Translator::remove_hook(GuestAddr address) {
  auto found = hooks_.find(address.value);
  if (found == hooks_.end() || --found->second.users != 0) return;
  hooks_.erase(found);
  cache_.invalidate_instruction(address.value);
}

void Translator::remove_stop(GuestAddr address) {
  stops_.erase(address.value);
  cache_.invalidate_instruction(address.value);
}

void Translator::invalidate(GuestAddr begin, uint64_t size) {
  if (size == 0) return;
  cache_.invalidate(begin.value, begin.value + size);
  ++statistics_.flushes;
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

} // namespace rdb::engine
