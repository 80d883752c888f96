// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/nested/nested_run.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/own_memory.h"
#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/syscalls/table.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <sys/mman.h>
#include <utility>

namespace rdb::debug {
namespace {

using engine::RSP;
using Kind = engine::StoreLogEntry::Kind;

// A long run's log is gone through each time it has this many new entries: what is written again and again
// need not be kept.
constexpr size_t kDigestAt = 4u << 20;
constexpr uint64_t kShortSlice = 16384; // instructions. The last few hundred of a slice take long

const char* name_of(engine::InputInstruction instruction) {
  static constexpr const char* kNames[] = {"none",   "rdtsc",  "rdtscp", "cpuid",
                                           "rdrand", "rdseed", "rdpid",  "xgetbv"};
  return kNames[static_cast<size_t>(instruction)];
}

std::string name_of_call(int64_t number) {
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(number));
  return info != nullptr && info->name != nullptr ? info->name : fmt::format("system call {}", number);
}

uint64_t word_at(uint64_t address) {
  uint64_t word;
  std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

void mix(uint64_t& hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
}

} // namespace

const char* name_of(NestedOutcome outcome) {
  static constexpr const char* kNames[] = {
      "returned",        "system call",  "input instruction",     "left by a jump",
      "fault",           "stack growth", "too many instructions", "too many writes",
      "memory of rdb's", "refused",      "not supported"};
  static_assert(std::size(kNames) == static_cast<size_t>(NestedOutcome::unsupported) + 1);
  return kNames[static_cast<size_t>(outcome)];
}

NestedRun::NestedRun(NestedEngine& engine)
    : nested_(engine), engine_(engine.translator()), put_aside_(std::make_unique<NestedState>()) {
  engine_.set_hook(nullptr, this);
}

NestedRun::~NestedRun() {
  for (const auto& [address, point] : points_)
    engine_.remove_hook(GuestAddr(address));
  for (const auto& [address, stub] : stubs_)
    engine_.remove_stop(GuestAddr(address));
  engine_.set_hook(nullptr, nullptr);
}

void NestedRun::hook(uint64_t address, bool Point::* role) {
  auto [place, is_new] = points_.try_emplace(address);
  place->second.*role = true;
  if (is_new)
    engine_.add_hook(GuestAddr(address),
                     {.function = &at_hook, .argument = &place->second, .fast = &at_hook_fast});
}

void NestedRun::watch(uint64_t address) {
  hook(address, &Point::is_entry);
}

void NestedRun::add_stub(uint64_t address, Stub stub) {
  if (stubs_.insert_or_assign(address, std::move(stub)).second) engine_.add_stop(GuestAddr(address));
}

NestedOutcome NestedRun::run(const NestedState& entry, uint64_t pc, const NestedRunOptions& options,
                             NestedResult& result) {
  RDB_CHECK(!is_active() && nested_.log().entries().empty());
  options_ = &options;
  result_ = &result;
  result.reason.clear();
  result.answered = 0;
  result.written.clear();
  result.bytes.clear();
  result.read_first.clear();
  result.entries.clear();
  entry_count_ = 0;
  entry_room_ = std::min(entries_.size(), options.most_entries);
  result.stores.clear();
  result.store_hash = 0;
  done_ = 0;
  ended_ = false;
  wrote_to_host_ = false;
  digested_ = 0;
  digest_at_ = kDigestAt;
  uint64_t gs_base;
  asm volatile("rdgsbase %0" : "=r"(gs_base));
  engine_.adopt_host_thread();
  engine_.forget_hook();
  entry.give(engine_);
  engine_.registers().rip = pc;
  slice_begin_ = engine_.executed();
  const uint64_t sp = registers().gpr[RSP];
  back_sp_ = sp + sizeof back_;
  if (nested_.space().read(GuestAddr(sp), &back_, sizeof back_) == sizeof back_)
    hook(back_, &Point::is_return);
  else
    end(NestedOutcome::fault, fmt::format("no stack at {:#x}", sp));
  std::exception_ptr failure;
  try {
    play();
  } catch (...) { // a stub's
    failure = std::current_exception();
    end(NestedOutcome::refused, "an exception");
  }
  collect();
  put_back();
  entry.end(engine_);
  asm volatile("wrgsbase %0" : : "r"(gs_base));
  options_ = nullptr;
  if (failure) std::rethrow_exception(failure);
  return result.outcome;
}

void NestedRun::play() {
  const uint64_t limit = options_->limit;
  while (!ended_) {
    const uint64_t most = std::min(instructions_with_room(), limit - std::min(limit, done_));
    if (ended_) break;
    if (done_ >= limit)
      end(NestedOutcome::limit, fmt::format("more than {} instructions", limit));
    else
      deal_with(run_slice(most));
  }
}

// How many instructions may be executed next, so that the log has room.
uint64_t NestedRun::instructions_with_room() {
  UndoLog& log = nested_.log();
  auto room = [&] {
    const size_t used = log.entries().size();
    const uint64_t by_size = used < digest_at_ ? (digest_at_ - used) / engine::kMostLogEntries : 0;
    return std::min(by_size, log.instructions_with_room());
  };
  if (room() >= kShortSlice) return room();
  digest_log();
  digest_at_ = std::max(kDigestAt, 2 * log.entries().size());
  if (room() < kShortSlice) end(NestedOutcome::log_full, "more memory is written than can be undone");
  return room();
}

engine::Stop NestedRun::run_slice(uint64_t most) {
  engine::Stop stop;
  slice_begin_ = engine_.executed();
  running_ = true;
  try {
    stop = engine_.run(most);
  } catch (const std::exception& error) {
    end(NestedOutcome::unsupported, error.what());
  }
  running_ = false;
  done_ += engine_.executed() - std::exchange(slice_begin_, engine_.executed());
  return stop;
}

void NestedRun::deal_with(const engine::Stop& stop) {
  if (ended_) return;
  // Where nothing can be executed, there was no hook.
  if (is_back()) return note_return();
  switch (stop.reason) {
  case engine::StopReason::address:
    deal_with_stub();
    return;
  case engine::StopReason::system_call:
    end(NestedOutcome::system_call, name_of_call(guest::call_in(registers()).number));
    return;
  case engine::StopReason::input:
    deal_with_input(stop);
    return;
  case engine::StopReason::fault:
    deal_with_fault(stop.fault);
    return;
  default:
    return;
  }
}

// Others have stops in this engine, too: these are passed.
void NestedRun::deal_with_stub() {
  const uint64_t place = registers().rip;
  auto stub = stubs_.find(place);
  if (stub == stubs_.end()) return;
  if (!stub->second() || ended_ || registers().rip != place) return;
  registers().rip = word_at(registers().gpr[RSP]);
  registers().gpr[RSP] += sizeof(uint64_t);
  // It may have been called with a jump, as the last thing that the function does.
  if (is_back()) note_return();
}

void NestedRun::deal_with_input(const engine::Stop& stop) {
  using engine::InputInstruction;
  if (stop.input != InputInstruction::cpuid && stop.input != InputInstruction::xgetbv)
    return end(NestedOutcome::input, name_of(stop.input));
  engine_.finish_input(engine_.execute_input());
  ++done_;
  slice_begin_ = engine_.executed();
  ++result_->answered;
}

void NestedRun::deal_with_fault(const engine::Fault& fault) {
  constexpr uint64_t kWrite = 2; // in the error code of a page fault
  const auto address = reinterpret_cast<uint64_t>(fault.info.si_addr);
  guest::AddressSpace& space = nested_.space();
  if (fault.signal == SIGSEGV && fault.error_code & kWrite && space.release_code_page(GuestAddr(address)))
    return;
  if (fault.signal == SIGSEGV && stack_would_grow(address))
    return end(NestedOutcome::stack_growth, fmt::format("the stack would grow to {:#x}", address));
  end(NestedOutcome::fault,
      fmt::format("signal {} at {:#x} for address {:#x}", fault.signal, registers().rip, address));
}

// Whether it is the kernel that would have answered, with more stack.
bool NestedRun::stack_would_grow(uint64_t address) const {
  const auto& mappings = nested_.space().mappings();
  auto next = mappings.upper_bound(address);
  return nested_.space().find(address) == nullptr && next != mappings.end() &&
         (next->second.flags & MAP_GROWSDOWN) != 0;
}

void NestedRun::at_hook(void* self, void* place, uint64_t pc) {
  auto& run = *static_cast<NestedRun*>(self);
  const Point& point = *static_cast<const Point*>(place);
  if (!run.running_ || run.ended_) return; // what debug code calls is not the run's
  if (point.is_return && run.is_back())
    run.note_return();
  else if (point.is_entry)
    run.note_entry(pc);
}

void NestedRun::note_entry(uint64_t pc) {
  if (executed() == 0) return;
  if (entry_count_ >= options_->most_entries)
    return end(NestedOutcome::limit, fmt::format("more than {} calls", options_->most_entries));
  constexpr size_t kFewest = 64;
  if (entry_count_ == entries_.size()) entries_.resize(std::max(kFewest, 2 * entry_count_));
  entry_begin_ = entries_.data();
  entry_room_ = std::min(entries_.size(), options_->most_entries);
  NestedEntry& entry = entries_[entry_count_++];
  write_entry(entry, pc);
  for (size_t i = 0; i < std::size(entry.vector); ++i)
    std::memcpy(&entry.vector[i], engine_.state().vectors[i], sizeof entry.vector[i]);
}

bool NestedRun::has_left() const {
  const uint64_t sp = engine_.state().registers.gpr[RSP];
  const guest::Mapping* stack = nested_.space().find(back_sp_);
  return sp > back_sp_ && stack != nullptr && sp <= stack->end;
}

// Everything is noted here: where the budget is used up at the same time, the engine executes one more
// instruction.
void NestedRun::note_return() {
  end(NestedOutcome::returned, {});
  for (size_t i = 0; i < std::size(result_->vector); ++i)
    engine_.read_vector(i, result_->vector[i]);
  if (engine_.uses_x87()) result_->x87 = x87_results();
}

void NestedRun::end(NestedOutcome outcome, const std::string& reason) {
  if (ended_) return;
  ended_ = true;
  result_->outcome = outcome != NestedOutcome::returned && has_left() ? NestedOutcome::left : outcome;
  result_->reason = reason;
  result_->executed = executed();
  result_->registers = registers();
  result_->x87 = {};
  end_mark_ = nested_.log().mark();
  if (running_) engine_.end_run_at(engine_.executed());
}

void NestedRun::run_debug_code(const std::function<void()>& code) {
  RDB_CHECK(is_active() && !running_);
  UndoLog& log = nested_.log();
  const UndoLog::Mark mark = log.mark();
  put_aside_->take(engine_);
  if (put_aside_->uses_x87) clear_x87();
  code();
  log.undo_to(mark);
  const uint64_t executed = engine_.executed();
  put_aside_->give(engine_);
  engine_.forget_hook();
  slice_begin_ = executed;
}

// Goes through what the log has gained, and drops what is not needed to undo it: loads, and stores to what
// was written before.
void NestedRun::digest_log() {
  size_t index = 0;
  nested_.log().keep_if([&](const engine::StoreLogEntry& entry) {
    if (index++ < digested_) return true;
    if (entry.kind == Kind::load) {
      written_.add_missing(entry.address, entry.size, read_first_);
      return false;
    }
    if (guest::is_host(entry.address)) {
      wrote_to_host_ = true;
      return true;
    }
    if (options_->hashes_stores) {
      uint64_t old = 0;
      std::memcpy(&old, &entry.old, entry.size);
      mix(result_->store_hash, entry.address);
      mix(result_->store_hash, old ^ static_cast<uint64_t>(entry.size) << 56);
    }
    if (options_->keeps_stores) {
      if (entry.kind == Kind::more && !result_->stores.empty())
        result_->stores.back().size += entry.size;
      else
        result_->stores.push_back({entry.address, entry.size});
    }
    return written_.add_new(entry.address, entry.size);
  });
  digested_ = nested_.log().entries().size();
}

// What the run has done, while it is still to be seen.
void NestedRun::collect() {
  NestedResult& result = *result_;
  nested_.log().undo_to(end_mark_);
  digest_log();
  if (wrote_to_host_ && result.outcome == NestedOutcome::returned) {
    result.outcome = NestedOutcome::host_memory;
    result.reason = "a pointer of the program's led to memory of rdb's";
  }
  if (result.outcome != NestedOutcome::returned) return;
  result.entries.assign(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(entry_count_));
  if (!read_first_.empty()) read_first_.ranges(result.read_first);
  written_.ranges(result.written);
  if (options_->hashes_stores) {
    for (const ByteRange& range : result.written)
      for (uint64_t at = range.begin; at < range.end; ++at)
        mix(result.store_hash, *reinterpret_cast<const uint8_t*>(at));
  }
  const OwnCode& own_code = nested_.own_code();
  if (own_code.end != 0) leave_out({own_code.begin, own_code.end});
  const guest::Mapping* stack = nested_.space().find(back_sp_ - 1);
  if (stack != nullptr && !options_->keeps_dead_stack) leave_out({stack->begin, back_sp_});
  for (const ByteRange& range : result.written) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(range.begin);
    result.bytes.insert(result.bytes.end(), bytes, bytes + range.size());
  }
}

void NestedRun::leave_out(const ByteRange& hole) {
  std::vector<ByteRange>& ranges = result_->written;
  auto first = std::find_if(ranges.begin(), ranges.end(),
                            [&](const ByteRange& range) { return range.end > hole.begin; });
  auto last =
      std::find_if(first, ranges.end(), [&](const ByteRange& range) { return range.begin >= hole.end; });
  if (first == last) return;
  const ByteRange before{first->begin, std::min(first->end, hole.begin)};
  const ByteRange after{std::max(std::prev(last)->begin, hole.end), std::prev(last)->end};
  auto place = ranges.erase(first, last);
  if (after.begin < after.end) place = ranges.insert(place, after);
  if (before.begin < before.end) ranges.insert(place, before);
}

void NestedRun::put_back() {
  UndoLog& log = nested_.log();
  if (wrote_to_host_) {
    const auto entries = log.entries();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
      if (entry->kind != Kind::load && guest::is_host(entry->address))
        write_own_memory(reinterpret_cast<void*>(entry->address), &entry->old, entry->size);
  }
  log.undo();
  written_.clear();
  read_first_.clear();
}

} // namespace rdb::debug
