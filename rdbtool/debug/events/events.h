// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What happens in a replay, reported to whoever asked: system calls, calls of functions and their returns,
// accesses to memory, signals, threads, times, the end. It costs nothing while nothing is registered;
// functions are hooks in the translated code, ranges of memory are the engine's watches.
#pragma once

#include "rdbtool/base/range_index.h"
#include "rdbtool/debug/events/hardware_watches.h"
#include "rdbtool/debug/events/returns.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/replay/replayer.h"

#include <array>
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
  time,
};
constexpr size_t kEventKinds = 11;

inline bool is_access(EventKind kind) {
  return kind == EventKind::before_access || kind == EventKind::after_access;
}
inline bool is_function(EventKind kind) {
  return kind == EventKind::call || kind == EventKind::ret;
}

// The number of a system call, by its name or as it stands; nothing if there is none such.
std::optional<int64_t> syscall_number(std::string_view name);

// The bytes of larger ranges are told only where they were touched.
constexpr uint64_t kLargestWhole = 1u << 16;

struct Event {
  EventKind kind = EventKind::exit;
  GuestAddr pc;       // of the instruction that does it; that a signal comes before
  int64_t number = 0; // of the system call, signal or thread; the exit status
  uint64_t arguments[6] = {};
  int64_t result = 0;
  GuestAddr address; // of the function; of the watched range; that a signal is about
  uint64_t size = 0; // of the watched range
  bool write = false;
  bool by_system_call = false;      // the access is no instruction's
  GuestAddr touched;                // the part of the range that is accessed
  uint64_t touched_size = 0;        //
  std::vector<std::byte> old_bytes; // from `bytes_at` on: the range, or what is touched of a large one
  GuestAddr bytes_at;
  const char* name = ""; // of the function, as its file has it
};

// A callback for fast hooks (see engine::DirectHook), where it may be run there.
struct FastCallback {
  void* teller = nullptr;
  bool (*is_ready)(void* teller) = nullptr; // null: it may not
  void (*tell)(void* teller, const Event& event) = nullptr;
};

class Events final : public replay::Observer {
public:
  explicit Events(DebugSession& session);
  using Callback = std::function<void(replay::Replayer&, const Event&)>;
  using Id = uint64_t;

  // `number`: nothing for all of them.
  Id on_syscall(EventKind side, std::optional<int64_t> number, Callback callback);
  // Functions whose name, as linked or demangled, matches the pattern, in every file that is mapped or will
  // be.
  Id on_function(EventKind side, const std::string& glob, Callback callback, const FastCallback& fast = {});
  Id on_function(EventKind side, GuestAddr function, Callback callback, const FastCallback& fast = {});
  Id on_access(EventKind side, GuestAddr address, uint64_t size, bool reads, bool writes, Callback callback);
  // A variable by name or "file.c:name".
  Id on_variable(EventKind side, const std::string& name, bool reads, bool writes, Callback callback);
  Id on_time(Time time, Callback callback);
  Id on(EventKind kind, Callback callback); // signal, thread_start, thread_end, exit
  // Also from within a callback, its own too. False if there is none.
  bool remove(Id id);

  // Patterns and names that nothing was found for so far.
  std::vector<std::string> unmatched() const;
  // What is to be said of variables whose name others have too.
  std::vector<std::string> ambiguous() const;

  void mapped(replay::Replayer& replayer, const trace::MapInput& map) override;
  void hooked(replay::Replayer& replayer, GuestAddr pc) override;
  void settle(replay::Replayer& replayer) override { arm(replayer); }
  void before_input(replay::Replayer& replayer, const trace::Input& input) override;
  void after_input(replay::Replayer& replayer, const trace::Input& input) override;
  void accessed(replay::Replayer& replayer, const engine::Access& access) override;
  void written(replay::Replayer& replayer, GuestAddr pc) override;
  void host_wrote(replay::Replayer& replayer, GuestAddr address) override;
  void woken(replay::Replayer& replayer) override;
  void ended(replay::Replayer& replayer) override;

private:
  struct Registration {
    Id id = 0;
    EventKind kind;
    Callback callback;
    FastCallback fast;
    std::optional<int64_t> number;
    std::string pattern; // of functions; a variable's name
    bool matched = false;
    std::vector<std::string> variables; // in the file where it was found: that, then others of its name
    uint64_t begin = 0, end = 0;        // the range
    bool reads = false, writes = false;
    std::array<std::byte, HardwareWatches::kLargest> kept = {}; // what the range holds, if the CPU watches it
    uint64_t function = 0;                                      // by address
    uint64_t time = 0;
    bool removed = false;
  };
  using Wanted = std::shared_ptr<Registration>;
  // Those who are told of one thing. It may grow and lose members while they are told.
  using Audience = std::vector<Wanted>;
  struct Function {
    Events* events = nullptr;
    std::string name;
    Audience entered, returned;
  };
  // A range that an access concerns.
  struct Touch {
    Wanted who;
    uint64_t begin, end; // what is touched of it
    bool write;
    std::vector<std::byte> old_bytes;
    uint64_t bytes_at;
  };

  Id add(Registration registration);
  void tell(replay::Replayer& replayer, Audience& audience, const Event& event);
  void tell_kind(replay::Replayer& replayer, const Event& event);
  // Brings what the engine notices up to what is registered.
  void arm(replay::Replayer& replayer);
  void forget_removed(replay::Replayer& replayer);

  // Functions: see event_functions.cc.
  void match(replay::Replayer& replayer, const ProgramFile& file, uint64_t bias, const Wanted& wanted);
  void match_functions(replay::Replayer& replayer, const ProgramFile& file, uint64_t bias,
                       const Wanted& wanted);
  void match_variable(const ProgramFile& file, uint64_t bias, const Wanted& wanted);
  void match_mapped(replay::Replayer& replayer);
  void follow_indirect(const std::string& name, uint64_t resolver, const Wanted& wanted);
  void find_bound(replay::Replayer& replayer);
  void add_function(replay::Replayer& replayer, uint64_t address, const std::string& name,
                    const Wanted& wanted);
  void enter(replay::Replayer& replayer, uint64_t pc, Function& function);
  void leave(replay::Replayer& replayer, uint64_t pc);
  void note_arguments(const engine::Registers& registers, uint64_t pc, const Function& function);
  void note_result(const engine::Registers& registers, uint64_t pc, uint64_t address,
                   const Function& function);
  static const FastCallback* fast_of(const Audience& audience);
  static bool enter_fast(void* context, void* function, uint64_t pc);
  static bool leave_fast(void* context, void* events, uint64_t pc);
  void forget_functions(replay::Replayer& replayer);
  void watch_jumps();

  // Memory: see event_accesses.cc.
  void watch_memory(replay::Replayer& replayer);
  bool watch_by_hardware();
  void keep_bytes(replay::Replayer& replayer);
  void watch_inputs(replay::Replayer& replayer);
  void note_reads(replay::Replayer& replayer, const trace::Input& input, std::vector<Touch>& touches);
  void note_touch(replay::Replayer& replayer, uint64_t begin, uint64_t end, bool read, bool write,
                  std::vector<Touch>& touches) const;
  void tell_accesses(replay::Replayer& replayer, EventKind side, uint64_t pc, std::vector<Touch>& touches,
                     bool by_system_call);

  std::map<Id, Wanted> registrations_;
  Id next_ = 1;
  std::array<Audience, kEventKinds> by_kind_; // but for functions and memory
  int telling_ = 0;                           // callbacks that run
  bool some_removed_ = false;
  bool inputs_wanted_ = false; // the replayer was told so

  std::unordered_map<uint64_t, Function> functions_;
  engine::PcTable<Function> functions_by_pc_; // the same, for those in a hurry
  // Functions that are asked for, and chosen by another one when a file is linked to them (strlen, memcpy).
  struct Indirect {
    std::string name;
    uint64_t resolver;
    Wanted wanted;
  };
  std::vector<Indirect> indirect_; // to be looked for among what is linked already
  Returns returns_;
  bool watches_jumps_ = false;
  // What is told, kept from time to time: to make them anew costs more than the rest.
  Event call_event_{.kind = EventKind::call};
  Event return_event_{.kind = EventKind::ret};
  std::vector<Wanted> unsearched_; // patterns that no file was looked through for, and addresses

  RangeIndex<Wanted> ranges_;
  bool changed_ = false; // what the engine notices may not be what is registered
  bool rearm_ = false;   // its watches are not
  HardwareWatches hardware_;
  bool by_hardware_ = false;    // the CPU tells of writes where it can
  uint64_t hardware_hits_ = 0;  // how often it has
  bool collecting_ = false;     // an input is applied: what it writes is noted
  std::vector<Touch> by_input_; // what it has written

  std::multimap<uint64_t, Wanted> times_;
  uint64_t call_arguments_[6] = {};
  uint64_t call_pc_ = 0;
};

inline void Events::note_arguments(const engine::Registers& registers, uint64_t pc,
                                   const Function& function) {
  constexpr engine::Gpr kArguments[6] = {engine::RDI, engine::RSI, engine::RDX,
                                         engine::RCX, engine::R8,  engine::R9};
  Event& event = call_event_;
  event.pc = event.address = GuestAddr(pc);
  event.name = function.name.c_str();
  for (int i = 0; i < 6; ++i)
    event.arguments[i] = registers.gpr[kArguments[i]];
}

inline void Events::note_result(const engine::Registers& registers, uint64_t pc, uint64_t address,
                                const Function& function) {
  Event& event = return_event_;
  event.pc = GuestAddr(pc);
  event.result = static_cast<int64_t>(registers.gpr[engine::RAX]);
  event.address = GuestAddr(address);
  event.name = function.name.c_str();
}

} // namespace rdb::debug
