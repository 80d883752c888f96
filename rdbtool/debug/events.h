// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens in a replay, told to whoever asked: system calls, calls of functions and their returns,
// accesses to memory, signals, threads, the end. Nothing registered costs nothing; functions are hooks in the
// translated code, ranges of memory are the engine's watches.
#pragma once

#include "rdbtool/debug/program_file.h"
#include "rdbtool/replay/replayer.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

enum class EventKind : uint8_t {
  syscall_before,
  syscall_after,
  call, // a function is entered
  ret,  // it has returned
  before_access,
  after_access,
  signal,
  thread_start,
  thread_end,
  exit,
};

// The number of a system call; nothing if there is none of that name.
std::optional<int64_t> syscall_number(std::string_view name);

struct Event {
  EventKind kind = EventKind::exit;
  GuestAddr pc;       // of the instruction that does it
  int64_t number = 0; // of the system call or signal; the exit status
  uint64_t arguments[6] = {};
  int64_t result = 0;
  GuestAddr address; // of the function; of the watched range
  uint64_t size = 0;
  bool write = false;
  bool by_system_call = false; // the access
  std::vector<std::byte> old_bytes, new_bytes;
  std::string name; // of the function, as its file has it
};

class Events final : public replay::Observer {
public:
  using Callback = std::function<void(replay::Replayer&, const Event&)>;
  using Id = uint64_t;

  // `number`: nothing for all of them.
  Id on_syscall(EventKind side, std::optional<int64_t> number, Callback callback);
  // Functions whose name, as linked or demangled, matches the pattern, in every file that is mapped or will
  // be.
  Id on_function(EventKind side, const std::string& glob, Callback callback);
  Id on_function(EventKind side, GuestAddr function, Callback callback);
  Id on_access(EventKind side, GuestAddr address, uint64_t size, bool reads, bool writes, Callback callback);
  // A variable by name or "file.c:name".
  Id on_variable(EventKind side, const std::string& name, bool reads, bool writes, Callback callback);
  Id on(EventKind kind, Callback callback); // signal, thread_start, thread_end, exit
  // Also from within a callback, its own too. False if there is none.
  bool remove(Id id);

  // Patterns and names that nothing was found for so far.
  std::vector<std::string> unmatched() const;

  void mapped(replay::Replayer& replayer, const trace::MapInput& map) override;
  void hooked(replay::Replayer& replayer, GuestAddr pc) override;
  void before_input(replay::Replayer& replayer, const trace::Input& input) override;
  void after_input(replay::Replayer& replayer, const trace::Input& input) override;
  void accessed(replay::Replayer& replayer, const engine::Access& access) override;
  void ended(replay::Replayer& replayer) override;

private:
  struct Registration {
    EventKind kind;
    Callback callback;
    std::optional<int64_t> number;
    std::string pattern; // of functions; a variable's name
    bool matched = false;
    uint64_t begin = 0, end = 0; // the range
    bool reads = false, writes = false;
  };
  struct Function {
    std::string name;
    std::vector<Id> entered, returned;
  };
  struct Return {
    uint64_t function;
    ThreadId thread;
    uint64_t sp; // when it has returned
  };

  Id add(Registration registration);
  void tell(replay::Replayer& replayer, Id id, const Event& event);
  void tell_all(replay::Replayer& replayer, EventKind kind, const Event& event);
  void match(replay::Replayer& replayer, const ProgramFile& file, uint64_t bias, Id id, Registration& wanted);
  void add_function(replay::Replayer* replayer, uint64_t address, const std::string& name, Id id,
                    EventKind side);
  void match_mapped(replay::Replayer& replayer);
  void arm(replay::Replayer& replayer);
  void enter(replay::Replayer& replayer, uint64_t pc, const Function& function);
  void leave(replay::Replayer& replayer, uint64_t pc);
  struct Touch {
    Id id;
    bool write;
    std::vector<std::byte> old_bytes;
  };
  std::vector<Touch> touched_by(replay::Replayer& replayer) const;
  void tell_access(replay::Replayer& replayer, EventKind side, uint64_t pc,
                   const std::vector<Touch>& touches);

  std::map<Id, std::shared_ptr<Registration>> registrations_;
  Id next_ = 1;
  std::unordered_map<uint64_t, Function> functions_;
  std::unordered_map<uint64_t, std::vector<Return>> returns_; // by the address that is returned to
  std::vector<Id> unsearched_;                                // patterns that no file was looked through for
  std::vector<uint64_t> wanted_hooks_;                        // before there was a replay to put them in
  bool rearm_ = false; // the engine's watches are not what is registered
  size_t watches_ = 0;
  std::map<Id, std::vector<std::byte>> before_call_; // watched bytes before an input is applied
  uint64_t call_arguments_[6] = {};
  uint64_t call_pc_ = 0;
};

} // namespace rdb::debug
