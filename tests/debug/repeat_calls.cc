// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// repeat_calls TRACE [PATTERN]: replays a recording. Where the program comes to the beginning of one of its
// functions, the function is run once more (NestedRun) before the program runs it; and where the program
// returns from it, time, registers and memory must be what that run has told. Nothing in memory must have
// changed in between. Prints how many calls there were of which outcome; the status is 1 if one was wrong.
#include "rdbtool/base/error.h"
#include "rdbtool/debug/events/symbol_search.h"
#include "rdbtool/debug/nested/nested_run.h"
#include "rdbtool/debug/regions/program_file.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/replay/replayer.h"
#include "rdbtool/trace/programs.h"

#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

namespace {

using namespace rdb;
using namespace rdb::debug;

class RepeatCalls final : public replay::Observer {
public:
  RepeatCalls(replay::Replayer& replayer, std::string pattern, Logged logged)
      : replayer_(replayer), pattern_(std::move(pattern)), engine_(replayer.space(), logged), run_(engine_) {
    options_.limit = 20'000'000;
  }

  void mapped(replay::Replayer&, const trace::MapInput& map) override {
    if (!map.has_file || map.offset != 0) return;
    std::unique_ptr<ProgramFile> file;
    try {
      file = std::make_unique<ProgramFile>(replayer_.trace().files().path_of(map.file));
    } catch (const elf::Error&) {
      return; // data
    }
    const uint64_t bias = file->bias(map.address.value);
    for (const FoundFunction& found : find_functions(file->elf(), pattern_)) {
      if (found.is_indirect || !functions_.try_emplace(found.address + bias, found.name).second) continue;
      hook(found.address + bias);
      run_.watch(found.address + bias);
    }
  }

  void hooked(replay::Replayer&, GuestAddr pc) override {
    check_returns(pc.value);
    if (auto found = functions_.find(pc.value); found != functions_.end() && is_sampled(pc.value))
      repeat(found->second);
  }

  int report() const {
    for (const auto& [what, count] : outcomes_)
      fmt::print("{}: {}\n", what, count);
    fmt::print("returned as told: {}\nwrong: {}\nns a call: {:.0f}\nns an instruction: {:.2f}\n", right_,
               wrong_, calls_ == 0 ? 0 : ns_ / static_cast<double>(calls_),
               instructions_ == 0 ? 0 : ns_ / static_cast<double>(instructions_));
    return wrong_ == 0 ? 0 : 1;
  }

private:
  struct Pending {
    std::string name;
    ThreadId thread;
    uint64_t back_sp;
    Time returns_at;
    NestedResult told;
  };

  void hook(uint64_t address) {
    if (hooked_.insert(address).second) replayer_.translator().add_hook(GuestAddr(address));
  }

  bool is_sampled(uint64_t pc) {
    const uint64_t number = ++entries_[pc];
    return number <= 64 || (number & (number - 1)) == 0;
  }

  void repeat(const std::string& name) {
    // All of memory takes long.
    const bool hashes = ++calls_ % 64 == 1;
    guest::MemoryHash memory;
    uint64_t mappings = 0;
    if (hashes) memory = guest::hash_memory(replayer_.space());
    if (hashes) mappings = guest::hash_mappings(replayer_.space());
    const auto begin = std::chrono::steady_clock::now();
    state_.take(replayer_.translator());
    run_.run(state_, replayer_.registers().rip, options_, result_);
    ns_ += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    instructions_ += result_.executed;
    if (hashes && (guest::hash_memory(replayer_.space()) != memory ||
                   guest::hash_mappings(replayer_.space()) != mappings))
      complain(name, "it has changed the program's memory");
    ++outcomes_[name_of(result_.outcome)];
    if (result_.outcome != NestedOutcome::returned) return;
    uint64_t back = 0;
    const uint64_t sp = replayer_.registers().gpr[engine::RSP];
    replayer_.space().read(GuestAddr(sp), &back, sizeof back);
    hook(back);
    pending_[back].push_back({name, replayer_.thread(), sp + sizeof back,
                              Time(replayer_.now().value + result_.executed), result_});
  }

  void check_returns(uint64_t pc) {
    auto found = pending_.find(pc);
    if (found == pending_.end()) return;
    std::erase_if(found->second, [&](const Pending& pending) {
      const engine::Registers& regs = replayer_.registers();
      if (pending.thread != replayer_.thread() || pending.back_sp != regs.gpr[engine::RSP]) return false;
      check(pending);
      return true;
    });
  }

  void check(const Pending& pending) {
    const NestedResult& told = pending.told;
    if (told.answered != 0) return;
    const uint64_t before = wrong_;
    if (pending.returns_at != replayer_.now())
      complain(pending.name,
               fmt::format("it returned at {}, not at {}", replayer_.now().value, pending.returns_at.value));
    const engine::Registers& regs = replayer_.registers();
    for (int i = 0; i < 16; ++i)
      if (regs.gpr[i] != told.registers.gpr[i]) complain(pending.name, fmt::format("register {}", i));
    for (size_t i = 0; i < 2; ++i) {
      std::byte vector[32];
      replayer_.translator().read_vector(i, vector);
      if (std::memcmp(vector, told.vector[i], sizeof vector) != 0)
        complain(pending.name, fmt::format("vector {}", i));
    }
    size_t at = 0;
    for (const ByteRange& range : told.written) {
      std::vector<uint8_t> now(range.size());
      replayer_.space().read(GuestAddr(range.begin), now.data(), now.size());
      if (std::memcmp(now.data(), told.bytes.data() + at, now.size()) != 0)
        complain(pending.name, fmt::format("memory at {:#x}", range.begin));
      at += range.size();
    }
    if (wrong_ == before) ++right_;
  }

  void complain(const std::string& name, const std::string& what) {
    ++wrong_;
    if (wrong_ < 20) fmt::print("{}: {}\n", name, what);
  }

  replay::Replayer& replayer_;
  std::string pattern_;
  NestedEngine engine_;
  NestedRun run_;
  NestedRunOptions options_;
  NestedState state_;
  NestedResult result_;
  std::map<uint64_t, std::string> functions_;
  std::map<uint64_t, uint64_t> entries_;
  std::set<uint64_t> hooked_;
  std::map<uint64_t, std::vector<Pending>> pending_; // by return address
  std::map<std::string, uint64_t> outcomes_;
  uint64_t calls_ = 0, right_ = 0, wrong_ = 0, instructions_ = 0;
  double ns_ = 0;
};

} // namespace

int main(int argc, char** argv) {
  guest::settle_host_place(argv);
  try {
    if (argc < 2) user_error("repeat_calls TRACE [PATTERN [loads]]");
    trace::TraceReader trace(argv[1]);
    replay::Replayer replayer(trace, *trace::first_process(trace).front(), nullptr);
    RepeatCalls calls(replayer, argc > 2 ? argv[2] : "*", argc > 3 ? Logged::loads_too : Logged::stores);
    replayer.add_observer(calls);
    replayer.run(Time(UINT64_MAX));
    const int status = calls.report();
    std::fflush(nullptr);
    _exit(status);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
