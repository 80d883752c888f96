// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Requests about state: threads, registers, memory, points, files. Those that move are in session_resume.cc.
#include "rdbtool/gdb/protocol/session.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/base/xml.h"
#include "rdbtool/gdb/protocol/framing.h"
#include "rdbtool/gdb/protocol/register_file.h"
#include "rdbtool/gdb/protocol/signal_numbers.h"
#include "rdbtool/gdb/protocol/text_cursor.h"

#include <algorithm>
#include <utility>

namespace rdb::gdb {

namespace {

constexpr const char* kOk = "OK";
constexpr const char* kMalformed = "E01";
constexpr const char* kNoSuchThread = "E02";
constexpr const char* kFault = "E0e"; // EFAULT

std::string error_reply(const std::string& text) {
  return "E.rdb: " + text;
}

} // namespace

Session::Session(Target& target, Navigator& navigator, std::function<void(const std::string&)> say)
    : target_(target), navigator_(navigator), say_(std::move(say)), files_(target), libraries_(target) {
  last_stop_ = {StopKind::sought, target.current_thread(), 0, {}, {}};
}

Session::~Session() {
  try {
    leave_diversion();
  } catch (const std::exception&) {
    // The target reports it again when it is asked for anything.
  }
}

Reply Session::handle(const Request& request, InterruptSource& interrupt, const Emit& emit) {
  pending_ = {};
  interrupt_ = &interrupt;
  emit_ = &emit;
  std::string reply;
  try {
    reply = std::visit([this](const auto& value) { return answer(value); }, request);
  } catch (const std::exception& error) {
    if (std::holds_alternative<request::Resume>(request)) {
      // gdb waits for a stop and takes nothing else. It takes this one for no breakpoint of its own, at which
      // it might go on by itself.
      tell(fmt::format("rdb: {}\n", visible_lines(failure_text(error))));
      reply = "T05replaylog:end;";
    } else if (std::holds_alternative<request::ReadMemory>(request)) {
      // gdb would take a text for the bytes that it has asked for.
      std::string line = fmt::format("rdb: {}", failure_text(error));
      if (line != said_) say_(line);
      said_ = line;
      reply = kFault;
    } else {
      reply = error_reply(visible_lines(failure_text(error)));
    }
  }
  interrupt_ = nullptr;
  emit_ = nullptr;
  Reply done = std::move(pending_);
  done.packet = std::move(reply);
  return done;
}

std::string Session::answer(const request::Unsupported&) {
  return "";
}
std::string Session::answer(const request::Malformed&) {
  return kMalformed;
}

std::string Session::answer(const request::Supported& request) {
  names_processes_ = std::ranges::find(request.features, "multiprocess+") != request.features.end();
  return fmt::format("PacketSize={:x};QStartNoAckMode+;multiprocess+;swbreak+;hwbreak+;vContSupported+;"
                     "ReverseStep+;ReverseContinue+;ConditionalBreakpoints+;QPassSignals+;QCatchSyscalls+;"
                     "qXfer:features:read+;qXfer:auxv:read+;qXfer:threads:read+;qXfer:exec-file:read+;"
                     "qXfer:siginfo:read+;qXfer:siginfo:write+;qXfer:libraries-svr4:read+;"
                     "qXfer:memory-map:read-;QNonStop-",
                     kMaxPacket);
}

std::string Session::answer(const request::NoAcks&) {
  pending_.no_acks = true;
  return kOk;
}

std::string Session::answer(const request::WhyStopped&) {
  return stop_reply(last_stop_);
}
// "Attached": at the end gdb detaches and does not ask whether to kill.
std::string Session::answer(const request::Attached&) {
  return "1";
}
std::string Session::answer(const request::ContinueSupported&) {
  return "vCont;c;C;s;S;r";
}
// Where a thread's variables are is known to the C library; for debuggers it has a table of its layouts. And
// gdb calls malloc for what it wants to keep in the program's memory. Libraries come later than the first
// offer, so gdb is asked at each one.
std::string Session::answer(const request::SymbolLookup& request) {
  static constexpr std::string_view kModuleNumber = "_thread_db_link_map_l_tls_modid";
  static constexpr std::string_view kMalloc = "malloc";
  if (request.name.empty()) return "qSymbol:" + to_hex(kModuleNumber);
  if (request.name == kModuleNumber) {
    if (request.value) module_number_place_ = request.value;
    return "qSymbol:" + to_hex(kMalloc);
  }
  if (request.name == kMalloc && request.value) malloc_ = request.value;
  return kOk;
}

// The thread pointer leads to a table of blocks, one for each module that has variables of threads.
std::string Session::answer(const request::ThreadLocalAddress& request) {
  constexpr uint64_t kTableOffset = 8, kEntrySize = 16, kNotMadeYet = ~uint64_t{0};
  bool readable = true;
  auto read = [&](GuestAddr from, auto value) {
    auto bytes = std::as_writable_bytes(std::span(&value, 1));
    readable = readable && target_.read_memory(from, bytes) == bytes.size();
    return value;
  };
  if (!target_.has_thread(request.thread)) return kNoSuchThread;
  uint64_t module = 1; // the program itself, if it has any
  if (request.link_map.value) {
    if (!module_number_place_)
      return "E.rdb: the program's C library does not say where its threads' variables are";
    auto layout = read(*module_number_place_, std::array<uint32_t, 3>{}); // bits, count, offset
    module = read(request.link_map + layout[2], uint64_t{0});
  }
  GuestAddr table(read(GuestAddr(target_.registers(request.thread).fs_base + kTableOffset), uint64_t{0}));
  auto entries = read(GuestAddr(table.value - kEntrySize), uint64_t{0});
  if (!readable || module == 0 || module > entries) return kFault;
  auto block = read(table + module * kEntrySize, uint64_t{0});
  if (!readable || block == 0) return kFault;
  if (block == kNotMadeYet) return "E.rdb: this thread has not used the library's variables yet";
  return fmt::format("{:x}", block + request.offset);
}

ThreadId Session::chosen(const ThreadRef& thread) {
  if (thread.kind == ThreadRef::Kind::one) return real(thread.id);
  return target_.has_thread(last_stop_.thread) ? last_stop_.thread : target_.current_thread();
}

bool Session::knows(ThreadId thread) {
  return ghost_ == thread || target_.has_thread(thread);
}

ThreadId Session::real(ThreadId thread) {
  return ghost_ == thread ? target_.current_thread() : thread;
}

// With the process's number, gdb can find its files in /proc (info proc).
std::string Session::thread_text(ThreadId thread) {
  return names_processes_ ? fmt::format("p{:x}.{:x}", target_.pid(), thread.value)
                          : fmt::format("{:x}", thread.value);
}

ThreadId Session::register_thread() {
  return chosen(register_thread_);
}

std::string Session::answer(const request::SelectThread& request) {
  if (request.thread.kind == ThreadRef::Kind::one && !knows(request.thread.id)) return kNoSuchThread;
  (request.use == request::SelectThread::Use::registers ? register_thread_ : resume_thread_) = request.thread;
  return kOk;
}

std::string Session::answer(const request::CurrentThread&) {
  return "QC" + thread_text(register_thread());
}

std::string Session::answer(const request::ThreadAlive& request) {
  return knows(request.thread) ? kOk : kNoSuchThread;
}

std::string Session::answer(const request::ThreadList& request) {
  if (!request.first) return "l";
  std::string list;
  for (const ThreadInfo& thread : target_.threads())
    list += (list.empty() ? "m" : ",") + thread_text(thread.id);
  if (ghost_) list += "," + thread_text(*ghost_);
  return list;
}

std::string Session::answer(const request::ThreadDescription& request) {
  for (const ThreadInfo& thread : target_.threads())
    if (thread.id == request.thread) return to_hex(thread.name);
  return kNoSuchThread;
}

std::string Session::answer(const request::ReadRegisters&) {
  return to_hex(all_register_bytes(target_.registers(register_thread())));
}

std::string Session::answer(const request::ReadRegister& request) {
  if (request.number >= register_count()) return kMalformed;
  return to_hex(*register_bytes(target_.registers(register_thread()), static_cast<unsigned>(request.number)));
}

std::string Session::answer(const request::WriteRegisters& request) {
  ThreadRegisters changed = target_.registers(register_thread());
  if (!set_all_register_bytes(changed, request.data)) return kMalformed;
  return write_registers(register_thread(), changed);
}

std::string Session::answer(const request::WriteRegister& request) {
  ThreadRegisters changed = target_.registers(register_thread());
  if (request.number >= register_count() ||
      !set_register_bytes(changed, static_cast<unsigned>(request.number), request.data))
    return kMalformed;
  return write_registers(register_thread(), changed);
}

std::string Session::answer(const request::ReadMemory& request) {
  Bytes data(request.size);
  size_t size = target_.read_memory(request.address, data);
  if (size == 0) size = libraries_.read_code(request.address, data);
  data.resize(size);
  if (data.empty() && request.size > 0) return kFault;
  return to_hex(data);
}

std::string Session::answer(const request::WriteMemory& request) {
  if (request.data.empty()) return kOk; // gdb asks in this way whether there is X
  return write_memory(request.address, request.data);
}

std::string Session::answer(const request::SetPoint& request) {
  PointKey key{request.type, request.address, request.kind};
  bool watch = request.type >= request::PointType::write;
  if (watch && (request.kind == 0 || request.address.value + request.kind < request.address.value))
    return kMalformed;
  if (request.insert)
    points_[key] = request.conditions;
  else
    points_.erase(key);
  return kOk;
}

std::string Session::answer(const request::CatchSyscalls& request) {
  syscalls_ = request.calls;
  return kOk;
}

std::string Session::answer(const request::PassSignals& request) {
  silent_signals_ = {};
  for (int number : request.signals)
    if (int signal = linux_signal(number); signal > 0) silent_signals_[static_cast<size_t>(signal)] = true;
  return kOk;
}

std::string Session::answer(const request::Detach&) {
  pending_.closes = true;
  return kOk;
}

std::string Session::answer(const request::Kill&) {
  pending_.closes = true;
  return kOk; // after k, nobody reads it
}

std::string Session::answer(const request::Monitor& request) {
  Navigator::Result result;
  try {
    // What the script asks before it complains: the process that serves it knows better what is wrong.
    if (request.command == "failed") return to_hex(target_.has_failed() ? "yes\n" : "no\n");
    // What the script asks behind a move.
    if (request.command == "moved") {
      if (ghost_) last_stop_.thread = target_.current_thread();
      ghost_.reset();
      result.text = std::exchange(move_failed_, {});
      return result.text.empty() ? kOk : to_hex(result.text);
    }
    result = navigator_.execute(request.command);
    if (result.moves() && result.at_resume) {
      pending_move_ = result;
    } else if (result.moves()) {
      leave_diversion();
      last_stop_ = navigator_.move(result, interrupt_);
      if (result.text.empty()) result.text = fmt::format("At {}.\n", navigator_.here());
      result.text += "gdb has not noticed: maintenance flush register-cache, then frame.\n";
    }
  } catch (const std::exception& error) {
    result.text = fmt::format("rdb: {}\n", visible_lines(failure_text(error)));
  }
  return result.text.empty() ? kOk : to_hex(result.text);
}

std::string Session::transfer_text(const request::Transfer& request, const std::string& whole) {
  if (request.offset > whole.size()) return kMalformed;
  std::string part = whole.substr(request.offset, request.length);
  return (request.offset + part.size() == whole.size() ? "l" : "m") + part;
}

std::string Session::threads_xml() {
  std::string xml = "<?xml version=\"1.0\"?>\n<threads>\n";
  for (const ThreadInfo& thread : target_.threads())
    xml += fmt::format("<thread id=\"{}\" name=\"{}\"/>\n", thread_text(thread.id), xml_escaped(thread.name));
  if (ghost_) xml += fmt::format("<thread id=\"{}\"/>\n", thread_text(*ghost_));
  return xml + "</threads>\n";
}

std::string Session::answer(const request::Transfer& request) {
  auto text_of = [](std::span<const std::byte> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  if (request.object == "siginfo") {
    if (request.write) {
      siginfo_written();
      return fmt::format("{:x}", request.data.size());
    }
    if (request.offset == 0) siginfo_read();
    return transfer_text(request, text_of(target_.siginfo(register_thread())));
  }
  if (request.write) return "";
  if (request.object == "features" && request.annex == "target.xml")
    return transfer_text(request, target_description());
  if (request.object == "auxv") return transfer_text(request, text_of(target_.auxv()));
  if (request.object == "threads") return transfer_text(request, threads_xml());
  if (request.object == "libraries-svr4") return transfer_text(request, libraries_.xml());
  if (request.object == "exec-file") return transfer_text(request, target_.executable());
  return "";
}

std::string Session::answer(const request::FileSetFilesystem&) {
  return "F0";
}
std::string Session::answer(const request::FileOpen& request) {
  return files_.open(request.path, request.flags);
}
std::string Session::answer(const request::FileRead& request) {
  return files_.read(request.file, request.count, request.offset);
}
std::string Session::answer(const request::FileStat& request) {
  return files_.stat(request.file);
}
std::string Session::answer(const request::FileClose& request) {
  return files_.close(request.file);
}
std::string Session::answer(const request::FileReadLink& request) {
  return files_.read_link(request.path);
}

} // namespace rdb::gdb
