// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gdb's packets as plain values. parse_request() turns text into one of these and does nothing else; what
// they mean is the session's affair (session.h).
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rdb::gdb {

// A thread as packets name it.
struct ThreadRef {
  enum class Kind : uint8_t { any, all, one } kind = Kind::any;
  ThreadId id;
  bool operator==(const ThreadRef&) const = default;
};

namespace request {

// Answered with an empty packet, gdb's word for "no such packet here".
struct Unsupported {};
// A packet that we know, with text that makes no sense.
struct Malformed {};

struct Supported { // qSupported
  std::vector<std::string> features;
};
struct NoAcks {};                 // QStartNoAckMode
struct WhyStopped {};             // ?
struct Attached {};               // qAttached
struct ContinueSupported {};      // vCont?
struct SymbolLookup {             // qSymbol: gdb offers to look up symbols, or has looked one up
  std::string name;               // empty: it only offers
  std::optional<GuestAddr> value; // nothing: there is no such symbol
};

// H: which thread later packets are about.
struct SelectThread {
  enum class Use : uint8_t { registers, resume } use = Use::registers;
  ThreadRef thread;
};
struct CurrentThread {}; // qC
struct ThreadAlive {
  ThreadId thread;
};
struct ThreadList { // qfThreadInfo, qsThreadInfo
  bool first = true;
};
struct ThreadDescription { // qThreadExtraInfo
  ThreadId thread;
};

struct ThreadLocalAddress { // qGetTLSAddr
  ThreadId thread;
  uint64_t offset = 0;
  GuestAddr link_map; // of the library that has the variable
};

struct ReadRegisters {};
struct WriteRegisters {
  Bytes data;
};
struct ReadRegister {
  uint64_t number = 0;
};
struct WriteRegister {
  uint64_t number = 0;
  Bytes data;
};
struct ReadMemory {
  GuestAddr address;
  uint64_t size = 0;
};
struct WriteMemory {
  GuestAddr address;
  Bytes data;
};

// vCont, c, s, bc, bs: the first action that fits a thread is its.
struct ResumeAction {
  bool step = false;
  int signal = 0; // gdb's number; ignored, a recorded program gets the signals it got
  ThreadRef thread{ThreadRef::Kind::all, {}};
  // vCont;r: go on stepping while begin <= pc < end. Empty: one step.
  GuestAddr range_begin, range_end;
};
struct Resume {
  Direction direction = Direction::forward;
  // For packets older than vCont: `actions[0]` is for the thread that Hc chose.
  bool chosen_thread = false;
  std::vector<ResumeAction> actions;
};

enum class PointType : uint8_t { software, hardware, write, read, access };
struct SetPoint { // Z, z
  bool insert = true;
  PointType type = PointType::software;
  GuestAddr address;
  uint64_t kind = 0; // the size, for a watchpoint
  std::vector<AgentBytecode> conditions;
};
struct CatchSyscalls {
  SyscallCatch calls;
};
struct PassSignals {
  std::vector<int> signals; // gdb's numbers
};

struct Detach {};
struct Kill {
  bool reply = false; // vKill wants an answer, k none
};

struct Monitor { // qRcmd
  std::string command;
};

// qXfer
struct Transfer {
  std::string object;
  std::string annex;
  bool write = false;
  uint64_t offset = 0;
  uint64_t length = 0;
  Bytes data;
};

// vFile
struct FileSetFilesystem {};
struct FileOpen {
  std::string path;
  uint64_t flags = 0;
};
struct FileRead {
  uint64_t file = 0;
  uint64_t count = 0;
  uint64_t offset = 0;
};
struct FileStat {
  uint64_t file = 0;
};
struct FileClose {
  uint64_t file = 0;
};
struct FileReadLink {
  std::string path;
};

} // namespace request

using Request =
    std::variant<request::Unsupported, request::Malformed, request::Supported, request::NoAcks,
                 request::WhyStopped, request::Attached, request::ContinueSupported, request::SymbolLookup,
                 request::SelectThread, request::CurrentThread, request::ThreadAlive, request::ThreadList,
                 request::ThreadDescription, request::ThreadLocalAddress, request::ReadRegisters,
                 request::WriteRegisters, request::ReadRegister, request::WriteRegister, request::ReadMemory,
                 request::WriteMemory, request::Resume, request::SetPoint, request::CatchSyscalls,
                 request::PassSignals, request::Detach, request::Kill, request::Monitor, request::Transfer,
                 request::FileSetFilesystem, request::FileOpen, request::FileRead, request::FileStat,
                 request::FileClose, request::FileReadLink>;

// Any text gives a request; text that is none of ours gives Unsupported or Malformed.
Request parse_request(std::string_view packet);

} // namespace rdb::gdb
