// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the debug regions of bundles inside a replay.
//
// The recorded program has no trace of the regions in it: no call, no marker, no byte. What says where they
// belong is the bundle's descriptors: addresses of the program, and for each address where the variables are
// that the region uses. So when the program maps the file that a bundle was made for (mapped()), its module
// is loaded, and the engine is given a hook for each of these addresses. Whenever the guest is about to
// execute the instruction there, the engine leaves translated code and calls arrive(), which fetches the
// arguments, finds the thread's variables, and has the runner call the debug function on the host's stack.
//
// Three things make this harder than it sounds.
// - A library can be unmapped and mapped again elsewhere: hooks and addresses follow it (follow()).
// - Some regions belong after an instruction: AfterInstruction knows when that is.
// - A hit is to cost little. Where a region is alone at its address and its debug function needs nothing but
//   general registers, the hook calls arrive_fast() (fast_regions.cc), which declines if it cannot do all.
#pragma once

#include "rdbtool/debug/regions/activations.h"
#include "rdbtool/debug/regions/after_instruction.h"
#include "rdbtool/debug/regions/arguments.h"
#include "rdbtool/debug/regions/attached_bundle.h"
#include "rdbtool/debug/regions/hooked_address.h"
#include "rdbtool/debug/regions/region_runner.h"
#include "rdbtool/debug/regions/region_selection.h"
#include "rdbtool/debug/twins/twins.h"
#include "rdbtool/replay/replayer.h"

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

class Regions final : public replay::Observer {
public:
  Regions(const RegionOptions& options, RegionRunner& runner, const TwinOptions& twins = {});
  ~Regions() override;

  void add(std::unique_ptr<Bundle> bundle);
  // After the last add(): throws UserError if the options select nothing.
  void check_selection() const;
  // Of bundles that were asked for and whose program never appeared: why each was not used.
  std::vector<std::string> unused() const;
  // What was not shown of regions that run in twins.
  const Twins& twins() const { return twins_; }
  // The line of the edited file for one of the file without its regions, which the program was built from.
  unsigned edited_line(const std::string& file, unsigned line) const;
  const std::deque<RegionCount>& counts() const { return counts_; }
  // Before debug code that is no region runs: it finds the thread's own thread-local variables.
  void use_thread_locals(replay::Replayer& replayer);
  bool has_thread_locals() const { return thread_locals_used_; }
  // Whether this code of some bundle is_plain_code().
  bool is_plain(const void* code) const;
  // At the end: runs the destructors of debug-only globals.
  void unload();

  void mapped(replay::Replayer& replayer, const trace::MapInput& map) override;
  void hooked(replay::Replayer& replayer, GuestAddr pc) override;
  bool host_fault(replay::Replayer& replayer, int signal, siginfo_t* info, void* context) override;
  void interrupted(replay::Replayer& replayer, int signal, void* context) override;
  void ended(replay::Replayer& replayer) override;

private:
  // Bundles come, and their programs move: see regions.cc.
  void attach(replay::Replayer& replayer, AttachedBundle& attached, const trace::MapInput& map,
              const ProgramFile& file);
  void follow(replay::Replayer& replayer, AttachedBundle& attached, const trace::MapInput& map);
  void add_hooks(replay::Replayer& replayer, AttachedBundle& attached);
  void remove_hooks(replay::Replayer& replayer, AttachedBundle& attached);
  HookedAddress& hooked_address(uint64_t address);
  void set_hook(replay::Replayer& replayer, uint64_t address);
  void prepare_fast(replay::Replayer& replayer, RegionInstance& instance) const;

  // Hits: see region_calls.cc and fast_regions.cc.
  static bool arrive_fast(void* replayer, void* hooked, uint64_t pc);
  void arrive(replay::Replayer& replayer, HookedAddress& hooked, uint64_t pc);
  void arrive_after(replay::Replayer& replayer, uint64_t pc);
  void call(replay::Replayer& replayer, RegionInstance& instance);
  bool find_arguments(replay::Replayer& replayer, RegionInstance& instance, uint64_t now);
  void* value_of(const descriptors::Argument* argument, const ArgumentSource& source,
                 const RegionInstance& instance, std::string& reason);
  void skip(RegionInstance& instance, uint64_t now, const std::string& why) const;

  RegionSelection selection_;
  RegionRunner& runner_;
  std::deque<AttachedBundle> bundles_;
  std::unordered_map<uint64_t, HookedAddress> hooked_;
  engine::PcTable<HookedAddress> hooked_by_pc_; // the same, for the fast path
  std::vector<uint64_t> unhooked_;              // addresses of hooked_ that have no hook yet
  AfterInstruction after_;
  std::deque<RegionCount> counts_;
  RegionCount unloading_{.place = "the debug code's destructors"};
  Activations activations_;
  ArgumentBuffer buffer_;
  bool thread_locals_used_ = false; // by some bundle
  Twins twins_;
};

} // namespace rdb::debug
