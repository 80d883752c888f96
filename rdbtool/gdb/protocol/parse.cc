// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a packet's text to a request value. The table at the end names every packet that gdb may send, those
// that we do not answer with the reason; what is not in the table is not supported either.
#include "rdbtool/gdb/protocol/request.h"
#include "rdbtool/gdb/protocol/text_cursor.h"

#include <optional>

namespace rdb::gdb {

namespace {

using namespace request;

constexpr uint64_t kMaxBlock = 0x10000; // the longest memory or file block asked for at a time

// THREAD, or pPROCESS.THREAD. There is one process, so its number only has to be one.
std::optional<ThreadRef> parse_thread(TextCursor& text) {
  if (text.eat('p')) {
    if (!text.eat("-1") && !text.hex()) return std::nullopt;
    if (!text.eat('.')) return ThreadRef{ThreadRef::Kind::all, {}};
  }
  if (text.eat("-1")) return ThreadRef{ThreadRef::Kind::all, {}};
  auto id = text.hex();
  if (!id || *id > INT32_MAX) return std::nullopt;
  if (*id == 0) return ThreadRef{ThreadRef::Kind::any, {}};
  return ThreadRef{ThreadRef::Kind::one, ThreadId(static_cast<int32_t>(*id))};
}

// One thread, not all of them.
std::optional<ThreadId> parse_one_thread(TextCursor& text) {
  auto ref = parse_thread(text);
  if (!ref || ref->kind != ThreadRef::Kind::one) return std::nullopt;
  return ref->id;
}

std::optional<ThreadId> parse_thread_id(TextCursor& text) {
  auto thread = parse_one_thread(text);
  return text.at_end() ? thread : std::nullopt;
}

Bytes to_bytes(std::string_view text) {
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// For packets that are a word and nothing more.
template <class Value>
Request plain(TextCursor& text) {
  return text.at_end() ? Request(Value{}) : Request(Malformed{});
}

Request parse_supported(TextCursor& text) {
  Supported value;
  while (!text.at_end()) {
    std::string_view feature = text.up_to(";");
    text.eat(';');
    if (!feature.empty()) value.features.emplace_back(feature);
  }
  return value;
}

Request parse_select_thread(TextCursor& text) {
  auto use = text.character();
  auto thread = parse_thread(text);
  if (!use || !thread || !text.at_end() || (*use != 'g' && *use != 'c')) return Malformed{};
  return SelectThread{*use == 'g' ? SelectThread::Use::registers : SelectThread::Use::resume, *thread};
}

Request parse_thread_alive(TextCursor& text) {
  auto thread = parse_thread_id(text);
  return thread ? Request(ThreadAlive{*thread}) : Request(Malformed{});
}

Request parse_thread_description(TextCursor& text) {
  auto thread = parse_thread_id(text);
  return thread ? Request(ThreadDescription{*thread}) : Request(Malformed{});
}

Request parse_thread_local_address(TextCursor& text) {
  auto thread = parse_one_thread(text);
  if (!thread || !text.eat(',')) return Malformed{};
  auto offset = text.hex();
  if (!offset || !text.eat(',')) return Malformed{};
  auto link_map = text.hex();
  if (!link_map || !text.at_end()) return Malformed{};
  return ThreadLocalAddress{*thread, *offset, GuestAddr(*link_map)};
}

Request parse_first_threads(TextCursor&) {
  return ThreadList{true};
}
Request parse_more_threads(TextCursor&) {
  return ThreadList{false};
}

Request parse_write_registers(TextCursor& text) {
  auto data = from_hex(text.rest());
  return data ? Request(WriteRegisters{std::move(*data)}) : Request(Malformed{});
}

Request parse_read_register(TextCursor& text) {
  auto number = text.hex();
  return number && text.at_end() ? Request(ReadRegister{*number}) : Request(Malformed{});
}

Request parse_write_register(TextCursor& text) {
  auto number = text.hex();
  if (!number || !text.eat('=')) return Malformed{};
  auto data = from_hex(text.rest());
  return data ? Request(WriteRegister{*number, std::move(*data)}) : Request(Malformed{});
}

Request parse_read_memory(TextCursor& text) {
  auto address = text.hex();
  if (!address || !text.eat(',')) return Malformed{};
  auto size = text.hex();
  if (!size || !text.at_end()) return Malformed{};
  return ReadMemory{GuestAddr(*address), std::min(*size, kMaxBlock)};
}

// M has its data in hex, X as bytes.
Request parse_write_memory(TextCursor& text, bool binary) {
  auto address = text.hex();
  if (!address || !text.eat(',')) return Malformed{};
  auto size = text.hex();
  if (!size || !text.eat(':')) return Malformed{};
  auto data = binary ? to_bytes(text.rest()) : from_hex(text.rest());
  if (!data || data->size() != *size) return Malformed{};
  return WriteMemory{GuestAddr(*address), std::move(*data)};
}
Request parse_write_memory_hex(TextCursor& text) {
  return parse_write_memory(text, false);
}
Request parse_write_memory_binary(TextCursor& text) {
  return parse_write_memory(text, true);
}

Request parse_vcont(TextCursor& text) {
  Resume value;
  while (text.eat(';')) {
    ResumeAction action;
    auto kind = text.character();
    if (!kind) return Malformed{};
    switch (*kind) {
    case 'c':
      break;
    case 's':
      action.step = true;
      break;
    case 'C':
    case 'S': {
      auto signal = text.hex();
      if (!signal || *signal > 255) return Malformed{};
      action.signal = static_cast<int>(*signal);
      action.step = *kind == 'S';
      break;
    }
    case 'r': {
      auto begin = text.hex();
      if (!begin || !text.eat(',')) return Malformed{};
      auto end = text.hex();
      if (!end) return Malformed{};
      action.step = true;
      action.range_begin = GuestAddr(*begin);
      action.range_end = GuestAddr(*end);
      break;
    }
    default: // 't' is for non-stop mode only
      return Malformed{};
    }
    if (text.eat(':')) {
      auto thread = parse_thread(text);
      if (!thread) return Malformed{};
      action.thread = *thread;
    }
    value.actions.push_back(action);
  }
  if (value.actions.empty() || !text.at_end()) return Malformed{};
  return value;
}

Request resume(Direction direction, bool step) {
  Resume value{direction, true, {}};
  value.actions.push_back({.step = step});
  return value;
}
// c [ADDRESS], s [ADDRESS]: going on somewhere else is not possible in a recording.
Request parse_continue(TextCursor& text) {
  return text.at_end() ? resume(Direction::forward, false) : Malformed{};
}
Request parse_step(TextCursor& text) {
  return text.at_end() ? resume(Direction::forward, true) : Malformed{};
}
// C SIGNAL[;ADDRESS], S likewise.
Request parse_with_signal(TextCursor& text, bool step) {
  auto signal = text.hex();
  return signal && text.at_end() ? resume(Direction::forward, step) : Malformed{};
}
Request parse_continue_signal(TextCursor& text) {
  return parse_with_signal(text, false);
}
Request parse_step_signal(TextCursor& text) {
  return parse_with_signal(text, true);
}
Request parse_reverse_continue(TextCursor& text) {
  return text.at_end() ? resume(Direction::backward, false) : Malformed{};
}
Request parse_reverse_step(TextCursor& text) {
  return text.at_end() ? resume(Direction::backward, true) : Malformed{};
}

// ;X LENGTH,BYTES for each condition; ;cmds:... for the commands that we do not take.
bool parse_conditions(TextCursor& text, std::vector<AgentBytecode>& conditions) {
  while (text.eat(';')) {
    while (text.eat('X')) {
      auto size = text.hex();
      if (!size || !text.eat(',') || *size > text.rest().size() / 2) return false;
      auto code = from_hex(text.take(*size * 2));
      if (!code) return false;
      conditions.push_back(std::move(*code));
    }
  }
  return text.at_end();
}

Request parse_point(TextCursor& text, bool insert) {
  auto type = text.hex();
  if (!type || *type > 4 || !text.eat(',')) return Malformed{};
  auto address = text.hex();
  if (!address || !text.eat(',')) return Malformed{};
  auto kind = text.hex();
  if (!kind) return Malformed{};
  SetPoint value{insert, static_cast<PointType>(*type), GuestAddr(*address), *kind, {}};
  if (!parse_conditions(text, value.conditions)) return Malformed{};
  return value;
}
Request parse_insert(TextCursor& text) {
  return parse_point(text, true);
}
Request parse_remove(TextCursor& text) {
  return parse_point(text, false);
}

Request parse_catch_syscalls(TextCursor& text) {
  CatchSyscalls value;
  if (text.eat('0')) return text.at_end() ? Request(value) : Request(Malformed{});
  if (!text.eat('1')) return Malformed{};
  value.calls.enabled = true;
  while (text.eat(';')) {
    auto number = text.hex();
    if (!number || *number > INT64_MAX) return Malformed{};
    value.calls.numbers.push_back(static_cast<int64_t>(*number));
  }
  return text.at_end() ? Request(std::move(value)) : Request(Malformed{});
}

Request parse_pass_signals(TextCursor& text) {
  PassSignals value;
  while (!text.at_end()) {
    auto number = text.hex();
    if (!number || *number > 255) return Malformed{};
    value.signals.push_back(static_cast<int>(*number));
    if (!text.eat(';') && !text.at_end()) return Malformed{};
  }
  return value;
}

Request parse_detach(TextCursor&) {
  return Detach{};
}
Request parse_kill(TextCursor&) {
  return Kill{false};
}
Request parse_vkill(TextCursor&) {
  return Kill{true};
}
Request parse_attached(TextCursor&) {
  return Attached{};
}
// "VALUE:NAME", of which the value may be missing; only ":" offers.
Request parse_symbol(TextCursor& text) {
  SymbolLookup lookup;
  if (auto value = text.hex()) lookup.value = GuestAddr(*value);
  auto name = text.eat(':') ? text_from_hex(text.rest()) : std::nullopt;
  if (!name) return Malformed{};
  lookup.name = std::move(*name);
  return lookup;
}

Request parse_monitor(TextCursor& text) {
  auto command = text_from_hex(text.rest());
  return command ? Request(Monitor{std::move(*command)}) : Request(Malformed{});
}

// OBJECT:read:ANNEX:OFFSET,LENGTH or OBJECT:write:ANNEX:OFFSET:DATA
Request parse_transfer(TextCursor& text) {
  Transfer value;
  auto object = text.until(':');
  auto operation = text.until(':');
  auto annex = text.until(':');
  if (!object || !operation || !annex) return Malformed{};
  value.object = *object;
  value.annex = *annex;
  auto offset = text.hex();
  if (!offset) return Malformed{};
  value.offset = *offset;
  if (*operation == "write") {
    if (!text.eat(':')) return Malformed{};
    value.write = true;
    value.data = to_bytes(text.rest());
    return value;
  }
  if (*operation != "read" || !text.eat(',')) return Malformed{};
  auto length = text.hex();
  if (!length || !text.at_end()) return Malformed{};
  value.length = std::min(*length, kMaxBlock);
  return value;
}

Request parse_setfs(TextCursor&) {
  return FileSetFilesystem{};
}

Request parse_file_open(TextCursor& text) {
  auto path = text.until(',');
  if (!path) return Malformed{};
  auto name = text_from_hex(*path);
  auto flags = text.hex();
  if (!name || !flags || !text.eat(',') || !text.hex() || !text.at_end()) return Malformed{};
  return FileOpen{std::move(*name), *flags};
}

Request parse_file_read(TextCursor& text) {
  auto file = text.hex();
  if (!file || !text.eat(',')) return Malformed{};
  auto count = text.hex();
  if (!count || !text.eat(',')) return Malformed{};
  auto offset = text.hex();
  if (!offset || !text.at_end()) return Malformed{};
  return FileRead{*file, std::min(*count, kMaxBlock), *offset};
}

Request parse_file_stat(TextCursor& text) {
  auto file = text.hex();
  return file && text.at_end() ? Request(FileStat{*file}) : Request(Malformed{});
}

Request parse_file_close(TextCursor& text) {
  auto file = text.hex();
  return file && text.at_end() ? Request(FileClose{*file}) : Request(Malformed{});
}

Request parse_file_readlink(TextCursor& text) {
  auto name = text_from_hex(text.rest());
  return name ? Request(FileReadLink{std::move(*name)}) : Request(Malformed{});
}

using Parse = Request (*)(TextCursor& text);

struct PacketEntry {
  std::string_view name; // what the packet begins with
  Parse parse;           // null: not supported
  const char* why_not = nullptr;
};

// The first entry that fits counts: longer names stand before the shorter ones they begin with.
constexpr PacketEntry kPackets[] = {
    // About the connection.
    {"qSupported:", parse_supported},
    {"qSupported", parse_supported},
    {"QStartNoAckMode", plain<NoAcks>},
    {"vMustReplyEmpty", nullptr, "asked by gdb to learn what an unknown packet gets"},
    {"QNonStop:", nullptr, "a recorded run has one position for all threads"},
    {"QThreadEvents:", nullptr, "threads are found by asking for their list"},
    {"QEnvironment", nullptr, "the program has run already"},
    {"QStartupWithShell:", nullptr, "the program has run already"},
    {"QSetWorkingDir:", nullptr, "the program has run already"},
    {"QDisableRandomization:", nullptr, "the program has run already"},
    {"!", nullptr, "there is one program, and it cannot be started anew"},

    // The program as a whole.
    {"?", plain<WhyStopped>},
    {"qAttached", parse_attached},
    {"qSymbol:", parse_symbol},
    {"qOffsets", nullptr, "gdb learns addresses from the auxiliary vector"},
    {"vRun;", nullptr, "a recording is gone back in, not run again"},
    {"vAttach;", nullptr, "there is one program"},
    {"vKill;", parse_vkill},
    {"D", parse_detach},
    {"k", parse_kill},
    {"R", nullptr, "a recording is gone back in, not run again"},
    {"r", nullptr, "a recording is gone back in, not run again"},

    // Threads.
    {"H", parse_select_thread},
    {"T", parse_thread_alive},
    {"qCRC:", nullptr, "gdb reads memory and compares itself"},
    {"qC", plain<CurrentThread>},
    {"qfThreadInfo", parse_first_threads},
    {"qsThreadInfo", parse_more_threads},
    {"qThreadExtraInfo,", parse_thread_description},
    {"qGetTLSAddr:", parse_thread_local_address},
    {"qGetTIBAddr:", nullptr, "Windows only"},

    // ThreadRegisters and memory.
    {"g", plain<ReadRegisters>},
    {"G", parse_write_registers},
    {"p", parse_read_register},
    {"P", parse_write_register},
    {"m", parse_read_memory},
    {"M", parse_write_memory_hex},
    {"X", parse_write_memory_binary},
    {"x", nullptr, "m is enough on this side of a wire"},
    {"qXfer:", parse_transfer},
    {"qSearch:memory:", nullptr, "gdb reads memory and searches itself"},
    {"qMemTags:", nullptr, "not on x86-64"},
    {"QMemTags:", nullptr, "not on x86-64"},

    // Going on and stopping.
    {"vCont?", plain<ContinueSupported>},
    {"vCont", parse_vcont},
    {"vCtrlC", nullptr, "non-stop mode only"},
    {"vStopped", nullptr, "non-stop mode only"},
    {"bc", parse_reverse_continue},
    {"bs", parse_reverse_step},
    {"c", parse_continue},
    {"C", parse_continue_signal},
    {"s", parse_step},
    {"S", parse_step_signal},
    {"Z", parse_insert},
    {"z", parse_remove},
    {"QCatchSyscalls:", parse_catch_syscalls},
    {"QPassSignals:", parse_pass_signals},
    {"QProgramSignals:", nullptr, "a recorded program gets the signals it got"},

    // Files and commands.
    {"vFile:setfs:", parse_setfs},
    {"vFile:open:", parse_file_open},
    {"vFile:pread:", parse_file_read},
    {"vFile:fstat:", parse_file_stat},
    {"vFile:close:", parse_file_close},
    {"vFile:readlink:", parse_file_readlink},
    {"vFile:pwrite:", nullptr, "recorded files are never written"},
    {"vFile:unlink:", nullptr, "recorded files are never written"},
    {"qRcmd,", parse_monitor},

    // Tracepoints, branch traces and the like.
    {"qT", nullptr, "no tracepoints"},
    {"QT", nullptr, "no tracepoints"},
    {"Qbtrace", nullptr, "no branch traces"},
    {"QAgent:", nullptr, "no in-process agent"},
    {"QAllow:", nullptr, "what is allowed does not change"},
    {"qL", nullptr, "superseded by qfThreadInfo"},
    {"qP", nullptr, "superseded by qThreadExtraInfo"},
    {"qOsdata", nullptr, "the machine of the recording is not here"},
};

} // namespace

Request parse_request(std::string_view packet) {
  for (const PacketEntry& entry : kPackets) {
    TextCursor text(packet);
    if (!text.eat(entry.name)) continue;
    return entry.parse ? entry.parse(text) : Unsupported{};
  }
  return Unsupported{};
}

} // namespace rdb::gdb
