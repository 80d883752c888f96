// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs regions in twins.
//
// An optimised program has no place left for many a region, and no value for many a variable. But a replay
// can run a function again from its source: its twin, compiled without optimisation and with the regions in
// it. When the replay enters a function F that has such regions, this happens, all of it before F's first
// instruction:
//   1. The recorded F is run and undone (NestedRun). Its outcome is known then: what it writes and returns,
//      which functions it enters, how many instructions it takes. If the log says that nothing comes in
//      between for so many instructions, the real F will do exactly that.
//   2. F's twin is run and undone, with its regions left out. Its outcome must be the same
//      (outcome_check.h), and what it starts from must be what the program guarantees at F's entry: see
//      why_not_believed().
//   3. The twin is run and undone once more, with its regions. Every value that they see is one that the
//      source computes on a way that leads to the recorded outcome: it is verified.
// The recorded program is never touched. Where one of these steps fails, nothing is shown, and the reason is
// counted.
//
// The order on the screen is that of the source. A function that F calls and that has an entry of its own is
// seen there, by its own twin, and its lines come in the middle of F's. So F's lines are held back as long as
// lines of others come before them (CallInProgress).
#pragma once

#include "rdbtool/debug/nested/nested_run.h"
#include "rdbtool/debug/regions/attached_bundle.h"
#include "rdbtool/debug/regions/region_runner.h"
#include "rdbtool/debug/regions/region_selection.h"
#include "rdbtool/debug/twins/direct_calls.h"
#include "rdbtool/debug/twins/entry_registers.h"
#include "rdbtool/debug/twins/hook_plan.h"
#include "rdbtool/debug/twins/outcome_check.h"
#include "rdbtool/debug/twins/process_images.h"
#include "rdbtool/debug/twins/program_symbols.h"
#include "rdbtool/debug/twins/twin_memory.h"
#include "rdbtool/debug/twins/twin_object.h"
#include "rdbtool/replay/replayer.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rdb::debug {

enum class TwinUse : uint8_t {
  automatic, // regions run in place where that is complete, else in twins
  always,    // in twins wherever there is one
  never,
};

struct TwinOptions {
  TwinUse use = TwinUse::never;
  uint64_t limit = 200'000'000; // instructions of one call
  bool reports = true;          // say in which twin a region runs, and which calls are not shown
};

class Twins : private TwinWorld {
public:
  Twins(const TwinOptions& options, const RegionSelection& selection, RegionRunner& runner);
  ~Twins() override;
  Twins(const Twins&) = delete;
  Twins& operator=(const Twins&) = delete;

  // The bundle's program file was mapped. Returns the regions, by id, that run in twins from here on.
  std::set<uint32_t> attach(replay::Replayer& replayer, AttachedBundle& attached, const trace::MapInput& map);
  // The bundle's program file is not there any more, or somewhere else: its regions run in no twin from here
  // on.
  void detach(replay::Replayer& replayer, const AttachedBundle& attached);
  // The guest is about to execute the instruction there, and others look at that address, too.
  void hooked(replay::Replayer& replayer, uint64_t pc);
  // At the end: which hits are not shown, and why.
  void report() const;

private:
  struct Bundled;
  struct Unit;

  struct TwinRegion {
    AttachedBundle* attached;
    RegionCount* count;
    DebugFunction function;
    size_t index;          // in Descriptors::regions
    uint32_t host;         // the function that it is in
    bool is_named = false; // the user knows that it runs in a twin
  };

  // A function whose entry the replay looks at.
  struct Hooked {
    Twins* twins;
    Unit* unit;
    uint32_t function;
    uint64_t entry; // where it is in memory
    std::set<uint32_t> inner;
    uint64_t calls = 0;                        // that were looked at
    std::map<std::string, uint64_t> not_shown; // how many calls, by reason
  };

  struct Unit {
    Bundled* bundled;
    std::unique_ptr<TwinObject> object;
    std::map<uint32_t, TwinRegion> regions;   // by index in TwinFacts::regions
    std::set<uint32_t> with_regions;          // functions
    std::map<uint64_t, uint32_t> by_entry;    // functions by their entries in memory
    std::set<uint32_t> has_direct_calls;      // functions that some code of the unit calls, or jumps to
    std::set<uint64_t> outside;               // entries of functions that the compiler does not know
    std::vector<guest::AddressRange> statics; // that can change
    bool is_loaded = false;
  };

  struct Bundled {
    AttachedBundle* attached;
    GuestAddr begin; // of the program file in memory
    std::unique_ptr<ProgramFile> file;
    uint64_t bias;
    std::unique_ptr<ProgramSymbols> symbols;
    std::unique_ptr<DirectCalls> calls;
    std::unique_ptr<EntryRegisters> registers;
    std::deque<Unit> units;
    std::deque<Hooked> hooks;
  };

  // A call that was looked at and has not returned yet.
  struct CallInProgress {
    const Hooked* hooked;
    ThreadId thread;
    uint64_t sp;                // at its entry
    uint64_t back;              // its return address
    Time end;                   // when it returns; unknown: the greatest
    std::set<uint32_t> covered; // functions of the unit whose regions its twin has run
    // Its lines that come after this many entries of functions that are looked at themselves.
    struct Held {
      uint64_t after;
      std::string text;
    };
    std::deque<Held> held;
    uint64_t entered = 0; // of these functions, so far
  };

  // At an entry: see twin_call.cc.
  void enter(replay::Replayer& replayer, Hooked& hooked);
  void look_at_call(replay::Replayer& replayer, Hooked& hooked, CallInProgress& call);
  std::string why_not_recorded(replay::Replayer& replayer, const Hooked& hooked, CallInProgress& call);
  bool agrees_on(const Unit& unit, uint32_t function, const CallInProgress& call) const;
  std::string why_not_equal(replay::Replayer& replayer, const Hooked& hooked, CallInProgress& call);
  std::string why_not_believed(replay::Replayer& replayer, const Hooked& hooked, const CallInProgress& call);
  bool is_called_from_elsewhere(replay::Replayer& replayer, const Hooked& hooked);
  // Is this a region of what the twin runs itself?
  static bool is_shown(const TwinRegion& region, const Hooked& hooked, const CallInProgress& call);
  void run_regions(replay::Replayer& replayer, Hooked& hooked, CallInProgress& call);
  bool run_region(replay::Replayer& replayer, uint64_t stub);
  std::vector<void*> values_of(replay::Replayer& replayer, const Unit& unit, uint32_t index,
                               uint64_t arguments);
  NestedOutcome run(NestedRun& runner, uint64_t pc, NestedResult& result);
  void forget_ended(replay::Replayer& replayer);
  void show_held();

  // Twins are loaded when the first of the unit's functions is entered: see twins.cc.
  void load(replay::Replayer& replayer, Unit& unit);
  void prepare_runs(replay::Replayer& replayer);
  void note_released(replay::Replayer& replayer);
  void find_linker_memory();
  void answer_unwinder(NestedRun& run, NestedEngine& engine);
  void plan(replay::Replayer& replayer, Unit& unit);
  std::string describe(const Difference& difference) const;
  std::optional<uint64_t> run_resolver(uint64_t resolver) override;

  TwinOptions options_;
  const RegionSelection& selection_;
  RegionRunner& runner_;
  std::deque<Bundled> bundles_;
  std::map<uint64_t, Hooked*> by_entry_;
  // Debug variables that the regions of one call share: by the address of its frame, and their name.
  std::map<std::pair<uint64_t, std::string>, std::vector<std::byte>> shared_;

  std::unique_ptr<TwinMemory> memory_;
  std::unique_ptr<NestedEngine> load_engine_;
  std::unique_ptr<NestedRun> checking_; // logs loads
  std::unique_ptr<NestedRun> showing_;  // runs regions
  uint64_t stubs_added_ = 0;
  std::unique_ptr<ProcessImages> images_;
  std::vector<guest::AddressRange> tables_; // that the dynamic linker writes

  NestedState state_;
  NestedResult recorded_, twin_, shown_;
  CheckedCall check_;
  std::vector<guest::AddressRange> released_; // blocks that a run has freed, and jump buffers
  std::vector<CallInProgress> calls_;
  // While regions run.
  Hooked* shown_call_ = nullptr;
  CallInProgress* call_ = nullptr;
  bool holds_lines_ = false;
};

} // namespace rdb::debug
