// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/trace_text.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/syscalls/table.h"
#include "rdbtool/trace/programs.h"
#include "rdbtool/trace/trace_dir.h"

#include <algorithm>
#include <cstring>
#include <ctime>

namespace rdb::cli {
namespace {

using namespace trace;

std::string scaled(uint64_t value, uint64_t step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  double amount = static_cast<double>(value);
  while (amount >= static_cast<double>(step) && unit + 1 != units.end()) {
    amount /= static_cast<double>(step);
    ++unit;
  }
  return unit == units.begin() ? fmt::format("{}{}", value, *unit) : fmt::format("{:.1f}{}", amount, *unit);
}

// Bytes as a C string would show them, shortened.
std::string quoted(std::span<const uint8_t> bytes, size_t most = 48) {
  std::string text = "\"";
  for (uint8_t byte : bytes.first(std::min(bytes.size(), most))) {
    if (byte == '\n')
      text += "\\n";
    else if (byte == '"' || byte == '\\')
      text += fmt::format("\\{}", static_cast<char>(byte));
    else if (byte >= ' ' && byte < 0x7f)
      text += static_cast<char>(byte);
    else
      text += fmt::format("\\x{:02x}", byte);
  }
  return text + (bytes.size() > most ? "\"..." : "\"");
}

// Paths and names in a trace are anybody's bytes: none of them reaches the terminal as a control character.
std::string path_text(std::string_view path) {
  return quoted({reinterpret_cast<const uint8_t*>(path.data()), path.size()}, 4096);
}

std::string signal_text(int32_t number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

std::string stream_text(OutputStream stream) {
  switch (stream) {
  case OutputStream::none:
    return "nowhere";
  case OutputStream::standard_output:
    return "stdout";
  case OutputStream::standard_error:
    return "stderr";
  case OutputStream::terminal:
    return "terminal";
  }
  return "unknown";
}

std::string text_of(std::monostate) {
  return "";
}

std::string text_of(const StartInput& x) {
  std::string text = fmt::format("pid {} {} {}", x.pid, name_of(x.origin), path_text(x.program));
  if (x.origin != ProcessOrigin::spawned)
    text += fmt::format(" by {} at {}", x.parent_pid, x.parent_time.value);
  return text + fmt::format(" rip {:#x} rsp {:#x}", x.registers.rip, x.registers.gpr[4]);
}

std::string text_of(const SyscallInput& x) {
  const SyscallInfo* info = find_syscall(x.number);
  std::string name = info == nullptr ? fmt::format("call {}", x.number) : info->name;
  std::string result = fmt::format("{}", x.result);
  if (x.result < 0 && x.result > -4096) {
    const char* error = strerrorname_np(static_cast<int>(-x.result));
    if (error != nullptr) result = error;
  } else if (x.result > 0xffff || x.result < 0) {
    result = fmt::format("{:#x}", static_cast<uint64_t>(x.result));
  }
  std::string text = fmt::format("{} = {}", name, result);
  if (x.output != OutputStream::none) text += fmt::format(" to {}", stream_text(x.output));
  return text + fmt::format(" hash {:016x}{}", x.hash, x.checks_data ? " with data" : "");
}

std::string text_of(const SignalInput& x) {
  std::string text = fmt::format("{}{}", signal_text(x.number), x.synchronous ? " (fault)" : "");
  switch (x.action) {
  case SignalOutcome::handler:
    return text + fmt::format(" handler {:#x} frame {:#x}", x.handler.value, x.frame.value);
  case SignalOutcome::fatal:
    return text + " fatal";
  case SignalOutcome::ignored:
    return text + " ignored";
  }
  return text;
}

std::string text_of(const PartialInput& x) {
  return fmt::format("rcx {:#x} rsi {:#x} rdi {:#x} flags {:#x}{}", x.gpr[1], x.gpr[6], x.gpr[7], x.rflags,
                     x.vectors.empty() ? "" : " and vector registers");
}

std::string text_of(const InstructionInput& x) {
  std::string text = name_of(x.op);
  for (int i = 0; i < x.count; ++i)
    text += fmt::format(" {:#x}", x.values[i]);
  return text;
}

std::string text_of(const MemoryInput&) {
  return "";
}

std::string text_of(const MapInput& x) {
  if (x.op == MapOp::advise && x.flags == kWrittenOutside)
    return fmt::format("written outside the recording: {}", path_text(x.path));
  std::string text = fmt::format("{} {:#x}", name_of(x.op), x.address.value);
  if (x.op != MapOp::program_break) text += fmt::format("+{:#x}", x.length);
  if (x.op == MapOp::remap) text += fmt::format(" from {:#x}+{:#x}", x.old_address.value, x.old_length);
  if (x.op == MapOp::map || x.op == MapOp::view || x.op == MapOp::protect)
    text += fmt::format(" {}{}{}", (x.protection & 1) != 0 ? 'r' : '-', (x.protection & 2) != 0 ? 'w' : '-',
                        (x.protection & 4) != 0 ? 'x' : '-');
  if (x.op == MapOp::map || x.op == MapOp::remap || x.op == MapOp::advise)
    text += fmt::format(" flags {:#x}", x.flags);
  if (x.object != 0) text += fmt::format(" {} object {} offset {:#x}", path_text(x.path), x.object, x.offset);
  if (x.has_file)
    text += fmt::format(" {} offset {:#x} content {}", path_text(x.path), x.offset, trace::to_string(x.file));
  return text;
}

std::string text_of(const ChecksumInput& x) {
  return fmt::format("memory {:016x} registers {:016x} pages {}", x.memory, x.registers, x.pages);
}

std::string text_of(const OutputInput& x) {
  return fmt::format("{} {}", stream_text(x.stream), quoted(x.bytes));
}

std::string text_of(const ThreadStartInput& x) {
  return fmt::format("thread {} stack {:#x} tls {:#x} flags {:#x}", x.created.value, x.stack.value,
                     x.tls.value, x.clone_flags);
}

std::string text_of(const ThreadEndInput& x) {
  return fmt::format("status {}", x.status);
}

std::string text_of(const ExitInput& x) {
  return x.by_signal ? signal_text(x.status) : fmt::format("status {}", x.status);
}

} // namespace

std::string bytes_text(uint64_t bytes) {
  return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}
std::string count_text(uint64_t count) {
  return scaled(count, 1000, {"", "k", "M", "G", "T"});
}

std::string moment_text(uint64_t unix_ns) {
  auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  tm local;
  char text[64] = "?";
  if (localtime_r(&seconds, &local) != nullptr) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::string shell_text(const std::string& word) {
  auto word_with_doubled_backslashes = [](const std::string& w) {
    std::string out;
    for (char c : w)
      out += c == '\\' ? std::string("\\\\") : std::string(1, c);
    return out;
  };
  auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("_-./=:,@%+", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  if (!is_visible(word)) {
    // As bash and zsh read them.
    std::string text = "$'";
    for (char c : visible_text(word_with_doubled_backslashes(word)))
      text += c == '\'' ? std::string("\\'") : std::string(1, c);
    return text + "'";
  }
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string input_text(const Input& input) {
  std::string text = fmt::format("{:>12}.{:<3} {:>7}  {:<12} ", input.at.time.value, input.at.ordinal,
                                 input.thread.value, input.continued ? "  more" : name_of(input.kind()));
  text += std::visit([](const auto& payload) { return text_of(payload); }, input.payload);
  for (const MemoryWrite& write : input.writes)
    text += fmt::format(" [{:#x}+{:#x}: {}]", write.address.value, write.size, quoted(write.bytes(), 16));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string state_text(const TraceReader& trace) {
  if (trace.metadata().state == TraceState::finished) return trace.metadata().end.summary();
  return RecorderLock::holder(trace.path()) != 0 ? "recording" : "killed";
}

uint64_t length_of(const TraceReader& trace, const ProcessInfo& process) {
  uint64_t begin = process.origin == ProcessOrigin::forked ? process.parent_time.value : 0;
  return std::max(last_time_of(trace, process).value, begin) - begin;
}

uint64_t length_of(const TraceReader& trace) {
  uint64_t length = 0;
  for (const ProcessInfo& process : trace.processes())
    length += length_of(trace, process);
  return length;
}

} // namespace rdb::cli
