// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens at the entry of a function that has regions in its twin: the steps of twins.h.
#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/twins/known_functions.h"
#include "rdbtool/debug/twins/twins.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <sys/mman.h>
#include <utility>

namespace rdb::debug {
namespace {

using engine::RSP;

uint64_t word_at(guest::AddressSpace& space, uint64_t address) {
  uint64_t word = 0;
  space.read(GuestAddr(address), &word, sizeof word);
  return word;
}

constexpr uint64_t kUnknownEnd = UINT64_MAX;
constexpr size_t kMostReasons = 16; // that are told apart, of one function

// Nobody writes there.
bool is_constant(guest::AddressSpace& space, const ByteRange& range) {
  for (uint64_t at = range.begin; at < range.end;) {
    if (at >= guest::kOwnCodeBegin && at < guest::kOwnCodeEnd) {
      at = guest::kOwnCodeEnd;
      continue;
    }
    const guest::Mapping* mapping = space.find(at);
    if (mapping == nullptr || (mapping->protection & PROT_WRITE) != 0) return false;
    at = mapping->end;
  }
  return true;
}

// Of one function, in their order, after sort_entries().
std::span<const NestedEntry> entries_of(const NestedResult& run, uint64_t entry) {
  auto [first, last] = std::ranges::equal_range(run.entries, entry, {}, &NestedEntry::address);
  return {first, last};
}

void sort_entries(NestedResult& run) {
  std::ranges::sort(run.entries, {},
                    [](const NestedEntry& entry) { return std::pair(entry.address, entry.offset); });
}

std::string reason_of(const NestedResult& run) {
  switch (run.outcome) {
  case NestedOutcome::system_call:
    return fmt::format("made a system call ({})", run.reason);
  case NestedOutcome::input:
    return fmt::format("executed {}", run.reason);
  case NestedOutcome::limit:
    return fmt::format("took {}", run.reason);
  default:
    return run.reason;
  }
}

} // namespace

void Twins::enter(replay::Replayer& replayer, Hooked& hooked) {
  const uint64_t sp = replayer.registers().gpr[RSP];
  forget_ended(replayer);
  Unit& unit = *hooked.unit;
  for (CallInProgress& call : calls_) {
    if (call.thread != replayer.thread()) continue;
    // A twin that is shown already has run it.
    if (call.hooked->unit == &unit && call.covered.contains(hooked.function)) return;
  }
  for (CallInProgress& call : calls_)
    if (call.thread == replayer.thread()) ++call.entered;
  CallInProgress call{.hooked = &hooked, .thread = replayer.thread(), .sp = sp, .end = Time(kUnknownEnd)};
  auto is_wanted = [&](const auto& region) {
    return selection_.allows(*region.second.count, replayer.now().value) &&
           (region.second.host == hooked.function || hooked.inner.contains(region.second.host));
  };
  if (std::ranges::any_of(unit.regions, is_wanted)) look_at_call(replayer, hooked, call);
  calls_.push_back(std::move(call));
  show_held();
}

// Those that have returned, or were left by a jump.
void Twins::forget_ended(replay::Replayer& replayer) {
  const uint64_t sp = replayer.registers().gpr[RSP];
  std::erase_if(calls_, [&](CallInProgress& call) {
    if (call.thread != replayer.thread()) return false;
    bool ended = call.end.value == kUnknownEnd ? sp > call.sp : replayer.now() >= call.end;
    if (ended)
      for (const CallInProgress::Held& held : call.held)
        runner_.output().show(held.text);
    return ended;
  });
}

// The innermost call's lines come first.
void Twins::show_held() {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
    for (; !call->held.empty() && call->held.front().after <= call->entered; call->held.pop_front())
      runner_.output().show(call->held.front().text);
}

void Twins::look_at_call(replay::Replayer& replayer, Hooked& hooked, CallInProgress& call) {
  ++hooked.calls;
  state_.take(replayer.translator());
  load(replayer, *hooked.unit);
  std::string why = why_not_recorded(replayer, hooked, call);
  if (why.empty()) why = why_not_equal(replayer, hooked, call);
  if (why.empty()) {
    run_regions(replayer, hooked, call);
    return;
  }
  if (hooked.not_shown.size() >= kMostReasons && !hooked.not_shown.contains(why)) why = "other reasons";
  ++hooked.not_shown[why];
}

NestedOutcome Twins::run(NestedRun& runner, uint64_t pc, NestedResult& result) {
  NestedRunOptions options{.limit = options_.limit, .hashes_stores = true};
  return runner.run(state_, pc, options, result);
}

// Step 1. The recorded function's outcome, and whether the real call will have it.
std::string Twins::why_not_recorded(replay::Replayer& replayer, const Hooked& hooked, CallInProgress& call) {
  released_.clear();
  if (run(*checking_, hooked.entry, recorded_) != NestedOutcome::returned) return reason_of(recorded_);
  sort_entries(recorded_);
  // The result of cpuid is an input.
  if (recorded_.answered != 0) return "executed cpuid";
  Time end = replayer.now() + recorded_.executed;
  if (end > replayer.undisturbed_until()) return "another thread ran, or a signal came";
  call.end = end;
  return "";
}

// Step 2. Functions that the source calls, and that the recorded code has in itself, run as twins, too.
std::string Twins::why_not_equal(replay::Replayer& replayer, const Hooked& hooked, CallInProgress& call) {
  const Unit& unit = *hooked.unit;
  const TwinFacts& facts = unit.object->facts();
  const TwinFunction& function = unit.object->functions()[hooked.function];
  if (!function.refused.empty()) return function.refused;
  for (uint32_t i : unit.with_regions)
    if (unit.object->functions()[i].entry == 0 || is_twins_alone(facts.functions[i])) call.covered.insert(i);
  std::set<uint32_t> own; // of those that have an entry
  bool settled = false;
  while (!settled) {
    for (uint32_t i : own)
      unit.object->set_callee(i, TwinObject::Callee::twin);
    NestedOutcome outcome = run(*checking_, function.code, twin_);
    for (uint32_t i : own)
      unit.object->set_callee(i, TwinObject::Callee::program);
    if (outcome != NestedOutcome::returned) return fmt::format("the twin {}", reason_of(twin_));
    sort_entries(twin_);
    settled = true;
    for (const Hooked& other : unit.bundled->hooks) {
      if (other.unit != &unit || own.contains(other.function) || agrees_on(unit, other.function, call))
        continue;
      if (!unit.object->can_set_callee(other.function))
        return fmt::format("the twin calls {} otherwise", facts.functions[other.function].name);
      own.insert(other.function);
      settled = false;
    }
  }
  call.covered.insert(own.begin(), own.end());
  // Whoever calls one of these by its address gets the program's, and what its regions show would be missed.
  for (uint32_t i : own)
    if (!entries_of(twin_, unit.object->functions()[i].entry).empty())
      return fmt::format("{} is called by its address, too", facts.functions[i].name);
  const guest::Mapping* stack = replayer.space().find(call.sp);
  check_.stack_begin = stack != nullptr ? stack->begin : call.sp;
  check_.stack_end = call.sp;
  check_.ignored = tables_;
  check_.ignored.insert(check_.ignored.end(), released_.begin(), released_.end());
  check_.result = &facts.functions[hooked.function].result;
  check_.compares_result = !facts.functions[hooked.function].result_removed;
  if (Difference difference = compare_outcomes(check_, recorded_, twin_, replayer.space()))
    return "the twin came out otherwise: " + describe(difference);
  return why_not_believed(replayer, hooked, call);
}

// Does the twin enter a function as the recorded code does? Arguments are those of its prototype.
bool Twins::agrees_on(const Unit& unit, uint32_t function, const CallInProgress& call) const {
  const uint64_t entry = unit.object->functions()[function].entry;
  const ArgumentRegisters& arguments = unit.object->facts().functions[function].arguments;
  if (call.covered.contains(function) || entry == 0) return true;
  auto is_frame = [&](uint64_t value) { return value < call.sp && call.sp - value < (64u << 20); };
  std::span<const NestedEntry> a = entries_of(recorded_, entry), b = entries_of(twin_, entry);
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < std::size(a[i].integer); ++k) {
      if ((arguments.integer >> k & 1) == 0) continue;
      const uint64_t x = a[i].integer[k], y = b[i].integer[k];
      // The upper half of a register with an int is anything.
      if (static_cast<uint32_t>(x) != static_cast<uint32_t>(y) && !(is_frame(x) && is_frame(y))) return false;
    }
    for (size_t k = 0; k < std::size(a[i].vector); ++k)
      if ((arguments.vector >> k & 1) != 0 &&
          static_cast<uint32_t>(a[i].vector[k]) != static_cast<uint32_t>(b[i].vector[k]))
        return false;
  }
  return true;
}

std::string Twins::describe(const Difference& difference) const {
  if (difference.kind == Difference::Kind::result)
    return fmt::format("it returned {:#x}, the program {:#x}", difference.twin, difference.recorded);
  return fmt::format("it has {:#x} at {:#x}, the program {:#x}", difference.twin, difference.address,
                     difference.recorded);
}

// Is the call one that the function's own compile cannot have known, so that everything was in its place for
// it? That is one by an address, or from another unit; unless a function of the unit may have jumped there as
// the last thing that it does, which is not to be seen.
bool Twins::is_called_from_elsewhere(replay::Replayer& replayer, const Hooked& hooked) {
  const Unit& unit = *hooked.unit;
  const Bundled& bundled = *unit.bundled;
  if (unit.has_direct_calls.contains(hooked.function)) return false;
  const bool is_address_known = unit.object->facts().functions[hooked.function].address_taken;
  const uint64_t back = word_at(replayer.space(), replayer.registers().gpr[RSP]);
  std::array<uint8_t, kLongestCall> code;
  if (is_address_known &&
      replayer.space().read(GuestAddr(back - code.size()), code.data(), code.size()) == code.size() &&
      ends_in_indirect_call(code))
    return true;
  const ProgramFile::CodeSegment code_here = bundled.file->code();
  if (back - bundled.bias < code_here.begin || back - bundled.bias >= code_here.end) return true;
  // In this file it must be a function that is known, and no piece of one of the unit's, such as f.cold.
  std::optional<ProgramSymbols::Function> caller = bundled.symbols->function_around(back - bundled.bias - 1);
  if (!caller || unit.by_entry.contains(caller->address + bundled.bias)) return false;
  const auto& names = unit.object->facts().function_index;
  return !caller->name.starts_with("OUTLINED_FUNCTION") &&
         !names.contains(std::string(caller->name.substr(0, caller->name.find('.'))));
}

// A caller that was compiled together with the function knows what it does not use, and leaves stale values
// there. So whatever the twin takes from outside must be something that the recorded function takes as well.
std::string Twins::why_not_believed(replay::Replayer& replayer, const Hooked& hooked,
                                    const CallInProgress& call) {
  const Unit& unit = *hooked.unit;
  if (is_called_from_elsewhere(replayer, hooked)) return "";
  const ArgumentRegisters& arguments = unit.object->facts().functions[hooked.function].arguments;
  const ArgumentRegisters read = unit.bundled->registers->read_by(hooked.entry - unit.bundled->bias);
  if ((arguments.integer & ~read.integer) != 0 || (arguments.vector & ~read.vector) != 0)
    return "the program may not pass all arguments";
  // Once it has called what its compiler does not know, all memory was in its place; but for statics, of
  // which compilers may know that nobody outside reads them.
  const bool calls_outside = std::ranges::any_of(
      recorded_.entries, [&](const NestedEntry& entry) { return unit.outside.contains(entry.address); });
  ByteSet known, missing, replaced;
  for (const ByteRange& range : recorded_.read_first)
    known.add(range.begin, range.size());
  const uint64_t sp = replayer.registers().gpr[RSP];
  known.add(sp, sizeof sp); // the return address
  // What the function replaces without a look at it, its callers need not have written, whoever else could
  // read it.
  for (const ByteRange& range : recorded_.written)
    known.add_missing(range.begin, range.size(), replaced);
  // What a region reads is not known before it runs.
  if (std::ranges::any_of(unit.regions, [&](const auto& region) {
        return is_shown(region.second, hooked, call) &&
               unit.object->facts().regions[region.first].reads != TwinFacts::Region::Reads::variables;
      }))
    return "the program may not have written what a region reads";
  for (const ByteRange& range : twin_.read_first)
    known.add_missing(range.begin, range.size(), missing);
  for (const ByteRange& range : missing.ranges()) {
    bool is_doubtful = std::ranges::any_of(unit.statics, [&](const guest::AddressRange& variable) {
      return variable.overlaps(range.begin, range.end);
    });
    for (uint64_t at = range.begin; at < range.end && !is_doubtful; ++at)
      is_doubtful = replaced.contains(at);
    if ((is_doubtful || !calls_outside) && !is_constant(replayer.space(), range))
      return "the program may not have written all that the source reads";
  }
  return "";
}

bool Twins::is_shown(const TwinRegion& region, const Hooked& hooked, const CallInProgress& call) {
  return region.host == hooked.function || call.covered.contains(region.host);
}

// Step 3.
void Twins::run_regions(replay::Replayer& replayer, Hooked& hooked, CallInProgress& call) {
  const Unit& unit = *hooked.unit;
  if (std::ranges::none_of(unit.regions,
                           [&](const auto& region) { return is_shown(region.second, hooked, call); }))
    return;
  shown_call_ = &hooked;
  call_ = &call;
  holds_lines_ = std::ranges::any_of(
      recorded_.entries, [&](const NestedEntry& entry) { return by_entry_.contains(entry.address); });
  for (uint32_t i : call.covered)
    if (unit.object->can_set_callee(i)) unit.object->set_callee(i, TwinObject::Callee::twin);
  NestedOutcome outcome = run(*showing_, unit.object->functions()[hooked.function].code, shown_);
  for (uint32_t i : call.covered)
    if (unit.object->can_set_callee(i)) unit.object->set_callee(i, TwinObject::Callee::program);
  call_ = nullptr;
  if (outcome != NestedOutcome::returned || shown_.executed != twin_.executed ||
      shown_.store_hash != twin_.store_hash)
    bug("the twin of {} at time {} went another way with its regions: {}",
        unit.object->facts().functions[hooked.function].symbol, replayer.now().value,
        outcome != NestedOutcome::returned ? shown_.reason : "it did something else");
}

// A twin with its regions has come to a stub.
bool Twins::run_region(replay::Replayer& replayer, uint64_t at) {
  const TwinStub& stub = *memory_->stub(at);
  const Unit& unit = *shown_call_->unit;
  const uint64_t argument = showing_->registers().gpr[engine::RDI];
  if (stub.kind == TwinStub::Kind::refused) {
    showing_->refuse(stub.why);
    return true;
  }
  if (stub.kind == TwinStub::Kind::twin_call) {
    // What an older call has left at this frame is over.
    std::erase_if(shared_, [&](const auto& variable) { return variable.first.first == argument; });
    return true;
  }
  // Another unit's object may have been entered by way of a name that only it has.
  auto found = stub.object == unit.object.get() ? unit.regions.find(stub.index) : unit.regions.end();
  if (found == unit.regions.end()) return true;
  const TwinRegion& region = found->second;
  if (!selection_.allows(*region.count, replayer.now().value)) return true;
  std::vector<void*> values = values_of(replayer, unit, found->first, argument);
  uint64_t after = 0;
  for (const NestedEntry& entry : showing_->entries())
    after += by_entry_.contains(entry.address);
  std::string text;
  if (holds_lines_) runner_.output().hold(text);
  showing_->run_debug_code([&] {
    AttachedBundle& attached = *region.attached;
    if (const guest::Thread* thread = replayer.loaded()) attached.bundle().use_thread(thread->order);
    attached.use_thread(replayer.space(), replayer.registers().fs_base);
    runner_.run(*region.count, reinterpret_cast<RegionRunner::DebugFunction>(region.function), values.data(),
                RegionRunner::Errno::of_thread);
  });
  if (!holds_lines_) return true;
  runner_.output().end_hold();
  if (after == 0 && call_->held.empty())
    runner_.output().show(text);
  else if (!text.empty())
    call_->held.push_back({after, std::move(text)});
  return true;
}

// The addresses of a region's variables, of which the twin gives those that the program has.
std::vector<void*> Twins::values_of(replay::Replayer& replayer, const Unit& unit, uint32_t index,
                                    uint64_t arguments) {
  const TwinRegion& region = unit.regions.at(index);
  const uint32_t count = region.attached->descriptors().regions[region.index].arguments;
  std::vector<void*> values(count + 1);
  for (uint32_t i = 0; i < count; ++i)
    values[i] = reinterpret_cast<void*>(word_at(replayer.space(), arguments + i * sizeof(void*)));
  const uint64_t frame = word_at(replayer.space(), arguments - sizeof frame);
  for (const TwinFacts::Region::Shared& shared : unit.object->facts().regions[index].shared) {
    if (shared.position >= count) continue;
    std::vector<std::byte>& storage = shared_[{frame, shared.name}];
    if (storage.empty()) storage.resize(shared.size);
    values[shared.position] = storage.data();
  }
  return values;
}

} // namespace rdb::debug
