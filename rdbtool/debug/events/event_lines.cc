// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/event_lines.h"

#include "descriptors/inspect.h"
#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/guest/memory/space_view.h"
#include "rdbtool/syscalls/describe.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <unistd.h>

namespace rdb::debug {
namespace {

constexpr size_t kDeepest = 64; // frames looked through for one of the program's own
constexpr size_t kMostBytesShown = 32;

std::optional<uint64_t> number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string value_text(const std::vector<std::byte>& bytes) {
  if (bytes.empty()) return "?";
  if (bytes.size() <= 8 && (bytes.size() & (bytes.size() - 1)) == 0) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return value < 10 ? fmt::format("{}", value) : fmt::format("{} ({:#x})", value, value);
  }
  std::string text;
  for (size_t i = 0; i < std::min(bytes.size(), kMostBytesShown); ++i)
    text += fmt::format("{}{:02x}", i > 0 ? " " : "", static_cast<unsigned>(bytes[i]));
  return bytes.size() > kMostBytesShown ? text + " ..." : text;
}

// Of a large range only what changed is of interest.
std::string change_text(const Event& event, guest::AddressSpace& space) {
  const std::vector<std::byte>& before = event.old_bytes;
  std::vector<std::byte> after(before.size());
  after.resize(space.read(event.bytes_at, after.data(), after.size()));
  if (event.size <= kMostBytesShown || before.size() != after.size())
    return fmt::format("{} -> {}", value_text(before), value_text(after));
  auto [begin, other] = std::mismatch(before.begin(), before.end(), after.begin());
  if (begin == before.end()) return "written, not changed";
  auto at = static_cast<uint64_t>(begin - before.begin()) + (event.bytes_at - event.address);
  auto left = std::min<ptrdiff_t>(before.end() - begin, 16);
  return fmt::format("[{}] {} -> {}", at, value_text({begin, begin + left}),
                     value_text({other, other + left}));
}

} // namespace

EventTrace::EventTrace(const TraceOptions& options, Events& events, replay::Replayer& replayer,
                       const replay::Backtracer::LineMap& lines, int fd)
    : events_(events), replayer_(replayer), backtracer_(replayer), signatures_(replayer), fd_(fd) {
  backtracer_.set_line_map(lines);
  if (options.syscalls) trace_syscalls(*options.syscalls);
  for (const std::string& glob : options.calls)
    trace_calls(glob);
  for (const std::string& text : options.watches)
    watch(text);
}

void EventTrace::line(GuestAddr pc, const std::string& text) {
  const replay::BacktraceFrame& frame = backtracer_.at(pc);
  std::string place = fmt::format("{}{}{}", frame.function,
                                  frame.function.empty() || frame.place.empty() ? "" : " at ", frame.place);
  std::string all = fmt::format("[{} {}] {}{}\n", replayer_.now().value, replayer_.thread().value, text,
                                place.empty() ? "" : fmt::format("  ({})", place));
  all = visible_lines(all);                           // names of functions and files are the recording's
  if (write(fd_, all.data(), all.size()) < 0) return; // nobody listens any more
}

GuestAddr EventTrace::program_pc(GuestAddr pc) {
  for (const replay::BacktraceFrame& frame : backtracer_.frames(kDeepest))
    if (frame.place.find(':') != std::string::npos) return frame.pc - 1;
  return pc;
}

void EventTrace::trace_syscalls(const std::string& names) {
  std::set<int64_t> wanted;
  for (size_t at = 0; at < names.size();) {
    size_t end = std::min(names.find(',', at), names.size());
    std::string name = names.substr(at, end - at);
    std::optional<int64_t> known = syscall_number(name);
    if (!known) user_error("--trace-syscalls: there is no system call '{}'", name);
    wanted.insert(*known);
    at = end + 1;
  }
  auto show = [this, wanted](replay::Replayer& replayer, const Event& event) {
    if (!wanted.empty() && !wanted.contains(event.number)) return;
    SyscallArgs arguments;
    std::copy(event.arguments, event.arguments + 6, arguments.begin());
    if (event.result == guest::kNotStarted) return;
    std::string text = describe_call(static_cast<uint64_t>(event.number), arguments, event.result,
                                     guest::SpaceView(replayer.space()));
    line(program_pc(event.pc), text);
  };
  events_.on_syscall(EventKind::syscall_after, std::nullopt, show);
  if (!wanted.empty()) return;
  events_.on(EventKind::signal, [this](replay::Replayer&, const Event& event) {
    line(event.pc, fmt::format("signal {}", strsignal(static_cast<int>(event.number))));
  });
  events_.on(EventKind::thread_start, [this](replay::Replayer&, const Event& event) {
    line(event.pc, fmt::format("thread {} starts", event.number));
  });
  events_.on(EventKind::thread_end, [this](replay::Replayer&, const Event& event) {
    line(event.pc, fmt::format("thread {} ends", event.number));
  });
}

// How many traced calls the one that begins is in. Some may have been left by longjmp() or an exception. One
// that begins where another did may be its last act, a jump: then it returns to the same place.
size_t EventTrace::enter(replay::Replayer& replayer, uint64_t function, uint64_t back) {
  std::vector<TracedCall>& calls = calls_[replayer.thread()];
  uint64_t sp = replayer.registers().gpr[engine::RSP];
  auto is_over = [&](const TracedCall& call) {
    return call.sp < sp || (call.sp == sp && (call.back != back || call.function == function));
  };
  while (!calls.empty() && is_over(calls.back()))
    calls.pop_back();
  calls.push_back({sp, function, back});
  return calls.size() - 1;
}

// The same for one that has returned.
size_t EventTrace::leave(replay::Replayer& replayer) {
  std::vector<TracedCall>& calls = calls_[replayer.thread()];
  uint64_t sp = replayer.registers().gpr[engine::RSP] - 8; // as it began
  while (!calls.empty() && calls.back().sp < sp)
    calls.pop_back();
  if (!calls.empty() && calls.back().sp == sp) calls.pop_back();
  return calls.size();
}

void EventTrace::trace_calls(const std::string& glob) {
  events_.on_function(EventKind::call, glob, [this](replay::Replayer& replayer, const Event& event) {
    // Who calls it: the call is in front of where it will return to.
    uint64_t back = 0;
    replayer.space().read(GuestAddr(replayer.registers().gpr[engine::RSP]), &back, 8);
    size_t depth = enter(replayer, event.address.value, back);
    const Signature* signature = signatures_.of(event.address);
    line(GuestAddr(back - 1),
         fmt::format("{:{}}{}({})", "", 2 * std::min(depth, kDeepest), descriptors::readable_name(event.name),
                     signature != nullptr ? signatures_.arguments(*signature)
                                          : fmt::format("{:#x}, {:#x}, {:#x}, ...", event.arguments[0],
                                                        event.arguments[1], event.arguments[2])));
  });
  events_.on_function(EventKind::ret, glob, [this](replay::Replayer& replayer, const Event& event) {
    size_t depth = leave(replayer);
    const Signature* signature = signatures_.of(event.address);
    std::string result = signature != nullptr ? signatures_.result(*signature)
                                              : fmt::format("{:#x}", static_cast<uint64_t>(event.result));
    if (result.empty()) return;
    line(event.pc, fmt::format("{:{}}{} = {}", "", 2 * std::min(depth, kDeepest),
                               descriptors::readable_name(event.name), result));
  });
}

void EventTrace::watch(const std::string& text) {
  auto show = [this, text](replay::Replayer& replayer, const Event& event) {
    line(event.by_system_call ? program_pc(event.pc) : event.pc,
         fmt::format("{}: {}{}", text, change_text(event, replayer.space()),
                     event.by_system_call ? " by a system call" : ""));
  };
  size_t comma = text.rfind(',');
  std::string place = text.substr(0, comma);
  std::optional<uint64_t> address = number(place);
  if (!address) {
    if (comma != std::string::npos)
      user_error("--watch {}: a size goes with an address; a variable has its own", text);
    events_.on_variable(EventKind::after_access, text, false, true, show);
    return;
  }
  std::optional<uint64_t> size = comma == std::string::npos ? 8 : number(text.substr(comma + 1));
  if (!size || *size == 0) user_error("--watch {}: expected ADDRESS,SIZE", text);
  events_.on_access(EventKind::after_access, GuestAddr(*address), *size, false, true, show);
}

} // namespace rdb::debug
