// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the debug regions of bundles inside a replay: at each location the engine leaves the guest, the
// arguments are fetched as the descriptors say, and the debug function is called on the host's stack with the
// host's libc.
#pragma once

#include "rdbtool/debug/arguments.h"
#include "rdbtool/debug/bundle.h"
#include "rdbtool/debug/nested_call.h"
#include "rdbtool/replay/replayer.h"

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

struct RegionOptions {
  bool prefix = false;           // time, thread, file:line before each line of debug output
  std::string output;            // a file for debug output instead of standard output
  std::vector<std::string> only; // "file.c:LINE" or "LINE": just the regions that cover these lines
  uint64_t from = 0;             // times between which regions run
  uint64_t to = UINT64_MAX;
  uint64_t max_hits = UINT64_MAX; // of each region
};

struct RegionCount {
  const descriptors::Region* region = nullptr;
  std::string place; // file:line
  uint64_t hits = 0;
  uint64_t nanoseconds = 0;
  uint64_t skipped = 0; // an argument was unavailable
  std::string disabled; // why it does not run any more
};

class Regions final : public replay::Observer {
public:
  explicit Regions(const RegionOptions& options);
  ~Regions() override;

  void add(std::unique_ptr<Bundle> bundle);
  // The names of bundles whose program never appeared.
  std::vector<std::string> unused() const;
  const std::deque<RegionCount>& counts() const { return counts_; }

  void mapped(replay::Replayer& replayer, const trace::MapInput& map) override;
  void before(replay::Replayer& replayer, GuestAddr pc) override;
  bool wants_after(GuestAddr pc) override;
  void after(replay::Replayer& replayer, GuestAddr pc) override;
  bool host_fault(replay::Replayer& replayer, int signal, siginfo_t* info, void* context) override;
  void ended(replay::Replayer& replayer) override;

private:
  // One instance of a region, ready to be called.
  struct Site {
    Bundle* bundle = nullptr;
    const descriptors::Location* location = nullptr;
    DebugFunction function = nullptr;
    RegionCount* count = nullptr;
    std::vector<const descriptors::Argument*> arguments; // by position
  };

  void attach(replay::Replayer& replayer, Bundle& bundle, uint64_t bias, const std::string& file);
  bool selected(const descriptors::Region& region, const std::string& file) const;
  void await(replay::Replayer& replayer, uint64_t pc);
  void call(replay::Replayer& replayer, Site& site);
  void* activation(const descriptors::Part& part, const Frame& frame, const Site& site);
  uint64_t tls_block(replay::Replayer& replayer, const Bundle& bundle) const;
  void show_output(replay::Replayer& replayer, const RegionCount& count);

  RegionOptions options_;
  std::vector<std::unique_ptr<Bundle>> bundles_;
  std::unordered_map<uint64_t, std::vector<Site>> before_;
  std::unordered_map<uint64_t, std::vector<Site>> after_;
  std::unordered_map<uint64_t, std::vector<const descriptors::Entry*>> entries_;
  std::deque<RegionCount> counts_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<std::byte>> activations_; // by (id, frame)
  std::unordered_map<const Bundle*, uint64_t> tls_size_;
  ArgumentBuffer buffer_;
  std::unique_ptr<NestedCalls> nested_;
  uint64_t after_length_ = 0; // of the instruction that after() waits for
  bool after_call_ = false;   // it is a call: "after" is when that returns
  struct Return {
    uint64_t call; // address of the call
    uint64_t sp;   // when it has returned
  };
  std::unordered_map<uint64_t, std::vector<Return>> returns_; // by return address
  int terminal_ = -1; // the real standard output, while debug code's goes elsewhere
  int captured_ = -1; // where debug output goes before it gets its prefix
};

} // namespace rdb::debug
