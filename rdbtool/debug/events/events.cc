// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/events.h"

#include "rdbtool/debug/isolation/guest_libc.h"
#include "rdbtool/syscalls/table.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace rdb::debug {
namespace {

constexpr uint64_t kSyscallLength = 2;

} // namespace

std::optional<int64_t> syscall_number(std::string_view name) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) {
    if (find_syscall(number) == nullptr) return std::nullopt;
    return number;
  }
  constexpr uint32_t kNumbers = 1024;
  for (uint32_t i = 0; i < kNumbers; ++i)
    if (const SyscallInfo* info = find_syscall(i); info != nullptr && info->name == name) return i;
  return std::nullopt;
}

Events::Id Events::add(Registration registration) {
  changed_ = true;
  registration.id = next_++;
  auto wanted = std::make_shared<Registration>(std::move(registration));
  registrations_[wanted->id] = wanted;
  if (is_access(wanted->kind) && wanted->pattern.empty()) {
    ranges_.add({wanted->begin, wanted->end, wanted});
    rearm_ = true;
  } else if (is_access(wanted->kind) || is_function(wanted->kind)) {
    unsearched_.push_back(wanted);
  } else if (wanted->kind == EventKind::time) {
    times_.emplace(wanted->time, wanted);
  } else {
    by_kind_[static_cast<size_t>(wanted->kind)].push_back(wanted);
  }
  return wanted->id;
}

Events::Id Events::on_syscall(EventKind side, std::optional<int64_t> number, Callback callback) {
  return add({.kind = side, .callback = std::move(callback), .number = number});
}

Events::Id Events::on(EventKind kind, Callback callback) {
  return add({.kind = kind, .callback = std::move(callback)});
}

Events::Id Events::on_time(Time time, Callback callback) {
  return add({.kind = EventKind::time, .callback = std::move(callback), .time = time.value});
}

Events::Id Events::on_function(EventKind side, const std::string& glob, Callback callback,
                               const FastCallback& fast) {
  if (side == EventKind::ret) watch_jumps();
  return add({.kind = side, .callback = std::move(callback), .fast = fast, .pattern = glob});
}

Events::Id Events::on_function(EventKind side, GuestAddr function, Callback callback,
                               const FastCallback& fast) {
  if (side == EventKind::ret) watch_jumps();
  return add({.kind = side,
              .callback = std::move(callback),
              .fast = fast,
              .matched = true,
              .function = function.value});
}

// Who waits for returns must know which calls do not return. A program may have none of these functions.
void Events::watch_jumps() {
  if (std::exchange(watches_jumps_, true)) return;
  for (std::string_view name : kNonlocalExits)
    add({.kind = EventKind::call,
         .callback =
             [this](replay::Replayer& replayer, const Event&) {
               if (std::optional<AbandonedCalls> calls = abandoned_calls(stopped_thread(replayer)))
                 returns_.abandon(replayer.thread(), *calls);
             },
         .pattern = std::string(name),
         .matched = true});
}

Events::Id Events::on_access(EventKind side, GuestAddr address, uint64_t size, bool reads, bool writes,
                             Callback callback) {
  return add({.kind = side,
              .callback = std::move(callback),
              .matched = true,
              .begin = address.value,
              .end = address.value + size,
              .reads = reads,
              .writes = writes});
}

Events::Id Events::on_variable(EventKind side, const std::string& name, bool reads, bool writes,
                               Callback callback) {
  return add(
      {.kind = side, .callback = std::move(callback), .pattern = name, .reads = reads, .writes = writes});
}

bool Events::remove(Id id) {
  auto found = registrations_.find(id);
  if (found == registrations_.end()) return false;
  found->second->removed = true;
  some_removed_ = changed_ = true;
  registrations_.erase(found);
  return true;
}

std::vector<std::string> Events::unmatched() const {
  std::vector<std::string> result;
  for (const auto& [id, registration] : registrations_)
    if (!registration->pattern.empty() && !registration->matched &&
        std::ranges::find(result, registration->pattern) == result.end()) // of calls and returns
      result.push_back(registration->pattern);
  return result;
}

std::vector<std::string> Events::ambiguous() const {
  std::vector<std::string> result;
  for (const auto& [id, registration] : registrations_) {
    const std::vector<std::string>& names = registration->variables;
    if (names.size() > 1)
      result.push_back(fmt::format("of several variables called {}, {} is watched; there is {} too",
                                   registration->pattern, names[0],
                                   fmt::join(names.begin() + 1, names.end(), ", ")));
  }
  return result;
}

// Those who join while it is told are not told of this one.
void Events::tell(replay::Replayer& replayer, Audience& audience, const Event& event) {
  ++telling_;
  const size_t count = audience.size();
  for (size_t i = 0; i < count; ++i) {
    Registration* who = audience[i].get();
    if (who->removed || (who->number && *who->number != event.number)) continue;
    who->callback(replayer, event);
  }
  --telling_;
}

void Events::tell_kind(replay::Replayer& replayer, const Event& event) {
  tell(replayer, by_kind_[static_cast<size_t>(event.kind)], event);
}

void Events::forget_removed(replay::Replayer& replayer) {
  some_removed_ = false;
  auto is_removed = [](const Wanted& wanted) { return wanted->removed; };
  for (Audience& audience : by_kind_)
    std::erase_if(audience, is_removed);
  std::erase_if(unsearched_, is_removed);
  std::erase_if(times_, [](const auto& entry) { return entry.second->removed; });
  size_t ranges = ranges_.ranges().size();
  ranges_.remove_if([](const auto& range) { return range.value->removed; });
  rearm_ |= ranges_.ranges().size() != ranges;
  forget_functions(replayer);
}

void Events::arm(replay::Replayer& replayer) {
  if (!changed_ || telling_ > 0) return;
  changed_ = false;
  if (some_removed_) forget_removed(replayer);
  while (!unsearched_.empty())
    match_mapped(replayer);
  if (!times_.empty()) replayer.wake_at(Time(times_.begin()->first));
  bool calls = !by_kind_[static_cast<size_t>(EventKind::syscall_before)].empty() ||
               !by_kind_[static_cast<size_t>(EventKind::syscall_after)].empty() || !ranges_.empty();
  if (calls != inputs_wanted_) {
    inputs_wanted_ = calls;
    replayer.tell_inputs(calls);
  }
  if (!rearm_) return;
  rearm_ = false;
  watch_memory(replayer);
}

void Events::before_input(replay::Replayer& replayer, const trace::Input& input) {
  call_pc_ = replayer.registers().rip;
  if (input.kind() == trace::InputKind::syscall) {
    guest::SystemCall call = replayer.current_call();
    std::copy(call.arguments.begin(), call.arguments.end(), call_arguments_);
    call_pc_ -= kSyscallLength;
    Event event{.kind = EventKind::syscall_before, .pc = GuestAddr(call_pc_), .number = call.number};
    std::copy(call.arguments.begin(), call.arguments.end(), event.arguments);
    tell_kind(replayer, event);
  } else if (input.kind() == trace::InputKind::thread_end) {
    // While it is still there.
    tell_kind(replayer,
              {.kind = EventKind::thread_end, .pc = GuestAddr(call_pc_), .number = replayer.thread().value});
  }
  arm(replayer);
  // The program is loaded before time begins, and a new mapping is not a write.
  if (ranges_.empty() || replayer.now().value == 0 || input.kind() == trace::InputKind::map) return;
  std::vector<Touch> touches;
  note_reads(replayer, input, touches);
  for (const replay::WrittenRange& write : replayer.written_by(input))
    note_touch(replayer, write.address.value, write.address.value + write.size, false, true, touches);
  tell_accesses(replayer, EventKind::before_access, call_pc_, touches, true);
  by_input_.clear();
  note_reads(replayer, input, by_input_);
  collecting_ = true;
}

void Events::after_input(replay::Replayer& replayer, const trace::Input& input) {
  collecting_ = false;
  keep_bytes(replayer);
  if (!by_input_.empty()) {
    std::vector<Touch> touches = std::exchange(by_input_, {});
    tell_accesses(replayer, EventKind::after_access, call_pc_, touches, true);
  }
  Event event{.kind = EventKind::signal, .pc = GuestAddr(call_pc_)};
  switch (input.kind()) {
  case trace::InputKind::syscall: {
    const auto& call = input.as<trace::SyscallInput>();
    event.kind = EventKind::syscall_after;
    event.number = call.number;
    event.result = call.result;
    std::copy(call_arguments_, call_arguments_ + 6, event.arguments);
    tell_kind(replayer, event);
    break;
  }
  case trace::InputKind::signal:
    event.number = input.as<trace::SignalInput>().number;
    event.address = input.as<trace::SignalInput>().fault_address;
    tell_kind(replayer, event);
    break;
  case trace::InputKind::thread_start:
    event.kind = EventKind::thread_start;
    event.number = input.as<trace::ThreadStartInput>().created.value;
    tell_kind(replayer, event);
    break;
  default:
    break;
  }
  arm(replayer);
}

void Events::woken(replay::Replayer& replayer) {
  uint64_t now = replayer.now().value;
  changed_ = true; // the next time is to be waited for
  Audience due;
  while (!times_.empty() && times_.begin()->first <= now) {
    due.push_back(times_.begin()->second);
    times_.erase(times_.begin());
  }
  for (const Wanted& wanted : due)
    registrations_.erase(wanted->id);
  tell(replayer, due, {.kind = EventKind::time, .pc = GuestAddr(replayer.registers().rip)});
  arm(replayer);
}

void Events::ended(replay::Replayer& replayer) {
  woken(replayer);
  Event event{.kind = EventKind::exit, .pc = GuestAddr(replayer.registers().rip)};
  if (replayer.ending()) event.number = replayer.ending()->value;
  tell_kind(replayer, event);
}

} // namespace rdb::debug
