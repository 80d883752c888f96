// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One debugger's connection: what its requests mean. Knows the target and the packets' values, not the
// socket.
//
// A recorded run cannot be changed. gdb's calls of program functions are writes and resumes like any other,
// but before each of them gdb reads the thread's siginfo. That read opens a diversion, a copy of the program
// that may be written to and run; it is thrown away at the next resume that is not such a call, or the next
// seek. All other writes are refused.
#pragma once

#include "rdbtool/gdb/protocol/library_list.h"
#include "rdbtool/gdb/protocol/navigator.h"
#include "rdbtool/gdb/protocol/recorded_files.h"
#include "rdbtool/gdb/protocol/request.h"
#include "rdbtool/gdb/protocol/target.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace rdb::gdb {

// What goes back to gdb.
struct Reply {
  std::string packet;
  bool no_acks = false; // from here on neither side acknowledges
  bool closes = false;  // the connection ends
};

class Session {
public:
  // `say` shows the user a line that gdb has no way to show.
  Session(Target& target, Navigator& navigator, std::function<void(const std::string&)> say);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Never throws: trouble becomes an error packet. `emit` sends a packet at once, before the answer.
  using Emit = std::function<void(const std::string& packet)>;
  Reply handle(const Request& request, InterruptSource& interrupt, const Emit& emit);

private:
  struct PointKey {
    request::PointType type;
    GuestAddr address;
    uint64_t kind;
    auto operator<=>(const PointKey&) const = default;
  };
  enum class DiversionState : uint8_t { none, allowed, active };

  // session.cc: one per kind of request.
  std::string answer(const request::Unsupported&);
  std::string answer(const request::Malformed&);
  std::string answer(const request::Supported&);
  std::string answer(const request::NoAcks&);
  std::string answer(const request::WhyStopped&);
  std::string answer(const request::Attached&);
  std::string answer(const request::ContinueSupported&);
  std::string answer(const request::SymbolLookup&);
  std::string answer(const request::SelectThread&);
  std::string answer(const request::CurrentThread&);
  std::string answer(const request::ThreadAlive&);
  std::string answer(const request::ThreadList&);
  std::string answer(const request::ThreadDescription&);
  std::string answer(const request::ThreadLocalAddress&);
  std::string answer(const request::ReadRegisters&);
  std::string answer(const request::WriteRegisters&);
  std::string answer(const request::ReadRegister&);
  std::string answer(const request::WriteRegister&);
  std::string answer(const request::ReadMemory&);
  std::string answer(const request::WriteMemory&);
  std::string answer(const request::SetPoint&);
  std::string answer(const request::CatchSyscalls&);
  std::string answer(const request::PassSignals&);
  std::string answer(const request::Detach&);
  std::string answer(const request::Kill&);
  std::string answer(const request::Monitor&);
  std::string answer(const request::Transfer&);
  std::string answer(const request::FileSetFilesystem&);
  std::string answer(const request::FileOpen&);
  std::string answer(const request::FileRead&);
  std::string answer(const request::FileStat&);
  std::string answer(const request::FileClose&);
  std::string answer(const request::FileReadLink&);
  std::string answer(const request::Resume&);

  // session_resume.cc
  StopEvent resume(const request::Resume& request);
  StopEvent make_pending_move(const request::Resume& request);
  ThreadId resumed_thread(const request::Resume& request);
  StopPoints stop_points() const;
  std::string stop_reply(const StopEvent& stop);
  std::string stop_reason(const StopEvent& stop) const;
  void tell(std::string_view text); // to gdb's console, while it waits for a stop

  // session_diversion.cc
  void siginfo_read();
  void siginfo_written();
  void allow_writes();
  std::string write_memory(GuestAddr address, std::span<const std::byte> data);
  std::string write_registers(ThreadId thread, const ThreadRegisters& changed);
  bool belongs_to_call(ThreadId thread, const ThreadRegisters& changed);
  bool in_call(ThreadId thread);
  StopEvent run_call(ThreadId thread, const RunRequest& request);
  void leave_diversion();

  std::string transfer_text(const request::Transfer& request, const std::string& whole);
  std::string threads_xml();
  std::string thread_text(ThreadId thread); // as packets name it
  ThreadId register_thread();
  ThreadId chosen(const ThreadRef& thread);
  bool knows(ThreadId thread);
  ThreadId real(ThreadId thread);

  Target& target_;
  Navigator& navigator_;
  std::function<void(const std::string&)> say_;
  std::string said_; // the last failure to read memory: gdb reads a value in many pieces
  RecordedFiles files_;
  LibraryList libraries_;
  InterruptSource* interrupt_ = nullptr;
  const Emit* emit_ = nullptr;
  Reply pending_; // the one being made

  bool names_processes_ = false; // gdb understands pPROCESS.THREAD
  ThreadRef register_thread_, resume_thread_;
  std::map<PointKey, std::vector<AgentBytecode>> points_;
  SyscallCatch syscalls_;
  std::array<bool, 65> silent_signals_{};
  StopEvent last_stop_;
  std::optional<GuestAddr> module_number_place_; // the C library's word on where a link map has its number
  std::optional<Navigator::Result> pending_move_;
  std::string move_failed_; // why the last one led nowhere
  // The thread that gdb stepped for a move, if there is none where that led: gdb must find it until it has
  // been told to look at another one. It is shown as the one that runs next.
  std::optional<ThreadId> ghost_;

  DiversionState diversion_ = DiversionState::none;
  int siginfo_reads_ = 0;                        // that have not been answered by a write
  std::map<ThreadId, ThreadRegisters> recorded_; // of all threads, from before the diversion
  std::optional<GuestAddr> malloc_;              // the function that gdb calls for memory
  struct Allocation {
    GuestAddr begin;
    uint64_t size = 0;
  };
  Allocation allocation_; // what it returned last in the diversion
};

} // namespace rdb::gdb
