// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Positions as users type them, and the commands about them.
#include "rdbtool/gdb/protocol/navigator.h"

#include "rdbtool/base/error.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace rdb::gdb {

namespace {

constexpr uint32_t kAllInputs = std::numeric_limits<uint32_t>::max();

constexpr std::string_view kHelp =
    R"(when                    where in the recording the program is, and which thread runs next
when-end                where the recording ends, and how
goto WHERE              go to a time, NN%, start, end or a bookmark
last-write ADDRESS SIZE go back to where these bytes were written last
bookmark [NAME]         give this position a name; without one, list them
checkpoint [NOTE]       remember this position under a number
restart N               go to checkpoint N
info checkpoints        list them
delete checkpoint N     forget it
state-hash              a number for all memory and registers: the same position has the same
)";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

// The words of `command` after `name`, if it is that command.
std::optional<std::string_view> arguments(std::string_view command, std::string_view name) {
  if (!command.starts_with(name)) return std::nullopt;
  std::string_view rest = command.substr(name.size());
  if (!rest.empty() && rest.front() != ' ') return std::nullopt;
  return trim(rest);
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

} // namespace

std::string Navigator::here() const {
  Position at = target_.position();
  return target_.input_pending() ? fmt::format("{}.{}", at.time.value, at.ordinal)
                                 : fmt::format("{}", at.time.value);
}

Position Navigator::parse(std::string_view text) const {
  text = trim(text);
  if (text == "start") return target_.first_position();
  if (text == "end") return target_.last_position();
  if (text.ends_with('%')) {
    auto percent = number<double>(text.substr(0, text.size() - 1));
    if (!percent || !(*percent >= 0 && *percent <= 100)) user_error("'{}' is not between 0% and 100%", text);
    uint64_t first = target_.first_position().time.value, last = target_.last_position().time.value;
    if (*percent == 100) return target_.last_position();
    auto offset = static_cast<uint64_t>(std::floor(static_cast<double>(last - first) * *percent / 100));
    return {Time(first + offset), kAllInputs};
  }
  if (auto mark = bookmarks_.find(text); mark != bookmarks_.end()) return mark->second.position;
  size_t dot = text.find('.');
  auto time = number<uint64_t>(text.substr(0, dot));
  if (time && dot == std::string_view::npos) return {Time(*time), kAllInputs};
  if (time) {
    if (auto inputs = number<uint32_t>(text.substr(dot + 1))) return {Time(*time), *inputs};
  }
  user_error("'{}' is no position: give a time, NN%, start, end or a bookmark", text);
}

Navigator::Result Navigator::last_write(std::string_view arguments) {
  size_t blank = std::min(arguments.find(' '), arguments.size());
  auto address = number<uint64_t>(arguments.substr(0, blank));
  auto size = number<uint64_t>(trim(arguments.substr(blank)));
  if (!address || !size || *size == 0 || *address + *size < *address)
    user_error("last-write needs an address and a size, both as decimal numbers");
  Result result;
  result.last_write = {GuestAddr(*address), *size, WatchKind::write};
  return result;
}

// Finds the write with the target itself: nothing else stops the run on the way.
StopEvent Navigator::go_to_write(const Watchpoint& memory, InterruptSource* interrupt) {
  StopPoints stops;
  stops.watchpoints.push_back(memory);
  stops.silent_signals.fill(true);
  RunRequest back;
  back.direction = Direction::backward;
  back.stops = &stops;
  back.interrupt = interrupt;
  Position start = target_.position();
  StopEvent stop = target_.run(back);
  if (stop.kind == StopKind::watchpoint) stop.kind = StopKind::sought;
  if (stop.kind == StopKind::sought || stop.kind == StopKind::interrupted) return stop;
  target_.seek(start);
  user_error("nothing wrote to the {} bytes at {:#x} before this position", memory.size,
             memory.address.value);
}

StopEvent Navigator::move(const Result& command, InterruptSource* interrupt) {
  if (command.last_write) return go_to_write(*command.last_write, interrupt);
  return target_.seek(command.go_to.value(), interrupt);
}

Navigator::Result Navigator::bookmark(std::string_view name) {
  if (name.empty()) {
    std::string text;
    for (const auto& [key, mark] : bookmarks_)
      text += fmt::format("{:<12} {}\n", mark.text, key);
    return {text.empty() ? "No bookmarks.\n" : text, {}, {}, false};
  }
  // It must not be taken for another kind of position.
  bool letter = name.front() == '_' || (name.front() | 0x20) >= 'a';
  if (!letter || name == "start" || name == "end" || name.ends_with('%') || name.find(' ') != name.npos)
    user_error("'{}' cannot be a bookmark's name: begin it with a letter, without blanks", name);
  bookmarks_.insert_or_assign(std::string(name), Mark{target_.position(), here(), {}});
  return {fmt::format("Bookmark {} at {}.\n", name, here()), {}, {}, false};
}

Navigator::Result Navigator::checkpoint(std::string_view note) {
  int id = next_checkpoint_++;
  checkpoints_[id] = {target_.position(), here(), std::string(note)};
  return {fmt::format("Checkpoint {} at {}.\n", id, here()), {}, {}, false};
}

int Navigator::checkpoint_number(std::string_view text) const {
  auto id = number<int>(text);
  if (!id || !checkpoints_.contains(*id))
    user_error("there is no checkpoint '{}'; see info checkpoints", text);
  return *id;
}

Navigator::Result Navigator::restart(std::string_view text) {
  const Mark& mark = checkpoints_.at(checkpoint_number(text));
  return {fmt::format("At checkpoint {}, {}.\n", text, mark.text), mark.position, {}, false};
}

Navigator::Result Navigator::delete_checkpoint(std::string_view text) {
  checkpoints_.erase(checkpoint_number(text));
  return {fmt::format("Checkpoint {} deleted.\n", text), {}, {}, false};
}

std::string Navigator::list_checkpoints() const {
  if (checkpoints_.empty()) return "No checkpoints.\n";
  std::string text;
  for (const auto& [id, mark] : checkpoints_)
    text += fmt::format("{:>3}  {:<12} {}\n", id, mark.text, mark.note);
  return text;
}

Navigator::Result Navigator::execute(std::string_view command) {
  command = trim(command);
  // What the gdb script puts before a command that moves.
  if (auto rest = arguments(command, "at-resume")) {
    Result result = execute(*rest);
    result.at_resume = true;
    return result;
  }
  if (arguments(command, "help")) return {std::string(kHelp), {}, {}, false};
  if (arguments(command, "when"))
    return {fmt::format("At {}, thread {}.\n", here(), target_.current_thread().value), {}, {}, false};
  if (arguments(command, "when-end"))
    return {fmt::format("The recording ends at {}: {}.\n", target_.last_position().time.value,
                        describe(target_.ending())),
            {},
            {},
            false};
  if (arguments(command, "state-hash"))
    return {fmt::format("{:016x}\n", target_.state_hash()), {}, {}, false};
  if (auto where = arguments(command, "goto")) {
    if (where->empty()) user_error("goto needs a time, NN%, start, end or a bookmark");
    return {{}, parse(*where), {}, false};
  }
  if (auto where = arguments(command, "last-write")) return last_write(*where);
  if (auto name = arguments(command, "bookmark")) return bookmark(*name);
  if (auto note = arguments(command, "checkpoint")) return checkpoint(*note);
  if (auto id = arguments(command, "restart")) return restart(*id);
  if (auto id = arguments(command, "delete checkpoint")) return delete_checkpoint(*id);
  if (arguments(command, "info checkpoints")) return {list_checkpoints(), {}, {}, false};
  user_error("unknown command '{}'; monitor help lists them", command);
}

} // namespace rdb::gdb
