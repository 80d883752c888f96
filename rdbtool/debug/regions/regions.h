// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the debug regions of bundles inside a replay: at each location the engine calls here, the arguments
// are fetched as the descriptors say, and the debug function is called on the host's stack with the host's
// libc.
#pragma once

#include "rdbtool/debug/regions/after_instruction.h"
#include "rdbtool/debug/regions/arguments.h"
#include "rdbtool/debug/regions/bundle.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/debug/regions/region_runner.h"
#include "rdbtool/replay/replayer.h"

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

struct RegionOptions {
  std::vector<std::string> only; // "file.c:LINE", "LINE" or "file.c": just the regions that cover these
  uint64_t from = 0;             // times between which regions run
  uint64_t to = UINT64_MAX;
  uint64_t max_hits = UINT64_MAX; // of each region
  bool report_skipped = true;     // say when a region does not run for want of a value
};

class Regions final : public replay::Observer {
public:
  Regions(const RegionOptions& options, RegionRunner& runner);
  ~Regions() override;

  void add(std::unique_ptr<Bundle> bundle);
  // After the last add(): throws UserError if the options select nothing.
  void check_selection() const;
  // Of bundles that were asked for and whose program never appeared: why each was not used.
  std::vector<std::string> unused() const;
  // The line of the edited file for one of the file without its regions, which the program was built from.
  unsigned edited_line(const std::string& file, unsigned line) const;
  const std::deque<RegionCount>& counts() const { return counts_; }
  // Before debug code that is no region runs: it finds the thread's own thread-local variables.
  void use_thread_locals(replay::Replayer& replayer) { find_all_thread_locals(replayer); }
  bool has_thread_locals() const { return thread_locals_used_; }
  // Of debug code of these bundles: see is_plain_code().
  bool is_plain(const void* code) const;
  // At the end: runs the destructors of debug-only globals.
  void unload();

  void mapped(replay::Replayer& replayer, const trace::MapInput& map) override;
  void hooked(replay::Replayer& replayer, GuestAddr pc) override;
  bool host_fault(replay::Replayer& replayer, int signal, siginfo_t* info, void* context) override;
  void interrupted(replay::Replayer& replayer, int signal, void* context) override;
  void ended(replay::Replayer& replayer) override;

private:
  // A bundle in the replay.
  struct Attached {
    std::unique_ptr<Bundle> bundle;
    std::string mismatch; // of a file that has the program's name, but is another
    ThreadLocals thread_locals;
    std::vector<size_t> tls_symbols;     // slots that follow the thread
    bool has_thread_locals = false;      // such slots, or arguments
    std::vector<size_t> library_symbols; // not found yet
    uint64_t tls_thread = 0;             // the thread pointer for which the block was found last
    uint64_t tls_block = 0;
    trace::ContentId file;                                       // of the program
    ProgramFile::Code code;                                      // of the program, as linked
    bool has_places = false;                                     // its code is in memory
    std::map<uint32_t, std::pair<RegionCount*, size_t>> regions; // those selected, by id: with the index
  };
  // An argument that is found with one addition: at an address, or the sum itself.
  struct FastArgument {
    const uint64_t* base; // a register
    uint64_t offset;
    bool is_address;
    uint64_t copy = 0; // of the value
  };
  // One instance of a region, ready to be called.
  struct Site {
    Attached* attached = nullptr;
    DebugFunction function = nullptr;
    RegionCount* count = nullptr;
    std::vector<const descriptors::Argument*> arguments; // by position
    std::vector<void*> values;
    bool is_fast = false;           // it can be run by run_fast()
    std::vector<FastArgument> fast; // its arguments then
  };
  // What is to be done at an address.
  struct Place {
    Regions* regions = nullptr;
    std::vector<std::pair<const Attached*, uint32_t>> activations; // that begin anew
    std::vector<Site> before;
    std::vector<Site> after;
  };

  void attach(replay::Replayer& replayer, Attached& attached, uint64_t begin, const ProgramFile& file);
  void follow(replay::Replayer& replayer, Attached& attached, const trace::MapInput& map);
  void add_places(replay::Replayer& replayer, Attached& attached);
  void remove_places(replay::Replayer& replayer, Attached& attached);
  void bind_library(const ProgramFile& file, const trace::MapInput& map);
  void find_libc(const ProgramFile& file, uint64_t begin);
  void find_errno(replay::Replayer& replayer);
  int guest_errno(replay::Replayer& replayer);
  bool selected(const descriptors::Region& region, const std::string& file) const;
  void find_all_thread_locals(replay::Replayer& replayer);
  void find_thread_locals(replay::Replayer& replayer, Attached& attached, uint64_t thread_pointer);
  Place& place_at(uint64_t address);
  void hook_places(replay::Replayer& replayer);
  void prepare_fast(replay::Replayer& replayer, Site& site) const;
  static bool arrive_fast(void* context, void* place, uint64_t pc);
  static int errno_now(void* regions);
  void arrive(replay::Replayer& replayer, Place& place, uint64_t pc);
  void arrive_after(replay::Replayer& replayer, uint64_t pc);
  void begin_activations(replay::Replayer& replayer, const Place& place);
  void skip(Site& site, uint64_t now, const std::string& why) const;
  void call(replay::Replayer& replayer, Site& site);
  bool find_arguments(replay::Replayer& replayer, Site& site, uint64_t now);
  void* activation(const descriptors::Part& part, const ArgumentSource& frame, const Attached& attached);
  void* value_of(const descriptors::Argument* argument, const ArgumentSource& frame, const Site& site,
                 std::string& reason);

  RegionOptions options_;
  RegionRunner& runner_;
  std::deque<Attached> bundles_;
  std::unordered_map<uint64_t, Place> places_;
  engine::PcTable<Place> places_by_pc_; // the same, for those in a hurry
  std::vector<uint64_t> unhooked_;      // those that are new
  After after_;
  std::deque<RegionCount> counts_;
  RegionCount unloading_{.place = "the debug code's destructors"};
  // By bundle, id and frame.
  std::map<std::tuple<const Attached*, uint32_t, uint64_t>, std::vector<std::byte>> activations_;
  ArgumentBuffer buffer_;
  bool thread_locals_used_ = false; // by some bundle
  replay::Replayer* replayer_ = nullptr;
  uint64_t errno_function_ = 0;          // of the program's libc
  std::optional<uint64_t> errno_offset_; // from the thread pointer
};

} // namespace rdb::debug
