// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bundles are attached to the program files that they were made for, and the engine is given hooks.
#include "rdbtool/debug/regions/regions.h"

#include "rdbtool/base/log.h"
#include "rdbtool/base/path.h"
#include "rdbtool/debug/regions/plain_code.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <sys/mman.h>
#include <utility>

namespace rdb::debug {

Regions::Regions(const RegionOptions& options, RegionRunner& runner, const TwinOptions& twins)
    : selection_(options), runner_(runner), twins_(twins, selection_, runner) {}

Regions::~Regions() = default;

void Regions::add(std::unique_ptr<Bundle> bundle) {
  bundles_.emplace_back(std::move(bundle));
}

void Regions::check_selection() const {
  std::vector<const descriptors::Descriptors*> all;
  all.reserve(bundles_.size());
  for (const AttachedBundle& attached : bundles_)
    all.push_back(&attached.descriptors());
  selection_.check(all);
}

unsigned Regions::edited_line(const std::string& file, unsigned line) const {
  for (const AttachedBundle& attached : bundles_)
    for (const descriptors::Source& source : attached.descriptors().sources) {
      if (base_name(source.path) != file) continue;
      for (const descriptors::Source::Range& range : source.removed)
        if (line >= range.first) line += range.last - range.first + 1;
      return line;
    }
  return line;
}

std::vector<std::string> Regions::unused() const {
  std::vector<std::string> result;
  for (const AttachedBundle& attached : bundles_) {
    const Bundle& bundle = attached.bundle();
    if (bundle.loaded() || bundle.found_by_itself()) continue;
    result.push_back(attached.mismatch.empty()
                         ? fmt::format("{} was not used: what is replayed does not load {}", bundle.path(),
                                       bundle.program())
                         : attached.mismatch);
  }
  return result;
}

void Regions::mapped(replay::Replayer& replayer, const trace::MapInput& map) {
  for (AttachedBundle& attached : bundles_)
    if (attached.bundle().loaded()) follow(replayer, attached, map);
  if (!map.has_file || map.offset != 0) return;
  std::unique_ptr<ProgramFile> file;
  auto open = [&]() -> const ProgramFile& {
    if (!file) file = std::make_unique<ProgramFile>(replayer.trace().files().path_of(map.file));
    return *file;
  };
  try {
    for (AttachedBundle& attached : bundles_) {
      const Bundle& bundle = attached.bundle();
      if (bundle.loaded()) continue;
      // Files are copied and renamed: what they hold tells.
      if (bundle.fits(open()))
        attach(replayer, attached, map, open());
      else if (base_name(map.path) == bundle.program())
        attached.mismatch = bundle.mismatch(open());
    }
    if (base_name(map.path).starts_with("libc.so")) {
      GuestLibc& libc = runner_.session().libc;
      libc.attach(open(), map.address.value);
      for (uint64_t function : libc.nonlocal_exits())
        after_.add_nonlocal_exit(function);
    }
    if (std::ranges::any_of(bundles_, &AttachedBundle::waits_for_libraries))
      for (AttachedBundle& attached : bundles_)
        attached.bind_library(open(), map);
  } catch (const elf::Error&) {
    return; // not a program, whatever its name
  }
}

void Regions::attach(replay::Replayer& replayer, AttachedBundle& attached, const trace::MapInput& map,
                     const ProgramFile& file) {
  runner_.attach(replayer);
  const uint64_t bias = file.bias(map.address.value);
  log_line(Topic::debug, "{} belongs to what is mapped at {:#x}", attached.bundle().path(),
           map.address.value);
  runner_.load(attached.bundle(), bias);
  attached.attach(file, map.file);
  thread_locals_used_ |= attached.thread_locals().any();
  attached.select(selection_, counts_);
  for (const elf::Symbol& symbol : file.elf().symbols()) // of libc, in a static program
    if (symbol.defined() && std::ranges::find(kNonlocalExits, symbol.name) != kNonlocalExits.end())
      after_.add_nonlocal_exit(symbol.raw.st_value + bias);
  attached.run_in_twins(twins_.attach(replayer, attached, map));
  add_hooks(replayer, attached);
}

// A library may go and come back, somewhere else perhaps: then its code is mapped there.
void Regions::follow(replay::Replayer& replayer, AttachedBundle& attached, const trace::MapInput& map) {
  if (!attached.is_own(map)) {
    if (attached.is_over_code(map) && attached.has_hooks) remove_hooks(replayer, attached);
    return;
  }
  const ProgramFile::CodeSegment& code = attached.code();
  if (!(map.protection & PROT_EXEC) || map.offset != code.offset) return;
  const uint64_t bias = map.address.value - code.begin;
  const uint64_t old_bias = attached.bundle().bias();
  if (attached.has_hooks) {
    if (bias == old_bias) return;
    const guest::Mapping* old = replayer.space().find(code.begin + old_bias);
    // A second copy of it, in a namespace of its own.
    if (old != nullptr && old->protection & PROT_EXEC && old->name == map.path) return;
    remove_hooks(replayer, attached);
  }
  attached.move(bias);
  add_hooks(replayer, attached);
}

void Regions::add_hooks(replay::Replayer& replayer, AttachedBundle& attached) {
  const Bundle& bundle = attached.bundle();
  const descriptors::Descriptors& d = bundle.descriptors();
  attached.has_hooks = true;
  std::map<std::pair<uint32_t, uint32_t>, RegionInstance> instances; // by region and instance
  for (const descriptors::Location& location : d.locations) {
    auto selected = attached.regions().find(location.region);
    if (selected == attached.regions().end() || attached.runs_in_twin(location.region)) continue;
    auto [count, index] = selected->second;
    DebugFunction function = bundle.function(index);
    if (function == nullptr) continue;
    size_t arguments = d.regions[index].arguments;
    instances[{location.region, location.instance}] =
        RegionInstance{&attached, function, count, std::vector<const descriptors::Argument*>(arguments),
                       std::vector<void*>(arguments + 1)};
  }
  for (const descriptors::Argument& argument : d.arguments) {
    auto instance = instances.find({argument.region, argument.instance});
    if (instance != instances.end() && argument.position < instance->second.arguments.size())
      instance->second.arguments[argument.position] = &argument;
  }
  for (const descriptors::Location& location : d.locations) {
    auto instance = instances.find({location.region, location.instance});
    if (instance == instances.end()) continue;
    HookedAddress& hooked = hooked_address(location.address.value + bundle.bias());
    (location.side == descriptors::Side::before ? hooked.before : hooked.after).push_back(instance->second);
  }
  for (const descriptors::Entry& entry : d.entries)
    hooked_address(entry.address.value + bundle.bias()).activations.emplace_back(&attached, entry.activation);
  for (uint64_t address : std::exchange(unhooked_, {}))
    set_hook(replayer, address);
}

void Regions::remove_hooks(replay::Replayer& replayer, AttachedBundle& attached) {
  attached.has_hooks = false;
  twins_.detach(replayer, attached);
  attached.run_in_twins({});
  auto is_its = [&](const RegionInstance& instance) { return instance.attached == &attached; };
  for (auto entry = hooked_.begin(); entry != hooked_.end();) {
    auto& [address, hooked] = *entry;
    std::erase_if(hooked.before, is_its);
    std::erase_if(hooked.after, is_its);
    std::erase_if(hooked.activations, [&](const auto& activation) { return activation.first == &attached; });
    if (!hooked.empty()) {
      ++entry;
      continue;
    }
    hooked_by_pc_.set(address, nullptr);
    replayer.translator().remove_hook(GuestAddr(address));
    entry = hooked_.erase(entry);
  }
}

HookedAddress& Regions::hooked_address(uint64_t address) {
  auto [entry, fresh] = hooked_.try_emplace(address);
  HookedAddress& hooked = entry->second;
  if (!fresh) return hooked;
  hooked.regions = this;
  hooked_by_pc_.set(address, &hooked);
  unhooked_.push_back(address);
  return hooked;
}

void Regions::set_hook(replay::Replayer& replayer, uint64_t address) {
  auto arrive = [](void* context, void* argument, uint64_t pc) {
    auto& hooked = *static_cast<HookedAddress*>(argument);
    auto& run = *static_cast<replay::Replayer*>(context);
    hooked.regions->arrive(run, hooked, pc);
    run.settle();
  };
  HookedAddress& hooked = hooked_.at(address);
  engine::DirectHook hook{.function = arrive, .argument = &hooked};
  if (hooked.is_simple()) {
    prepare_fast(replayer, hooked.before.front());
    if (hooked.before.front().is_fast) hook.fast = &arrive_fast;
  }
  replayer.translator().add_hook(GuestAddr(address), hook);
}

// Finds out whether a region can be run without leaving the guest's FS base and vector registers.
void Regions::prepare_fast(replay::Replayer& replayer, RegionInstance& instance) const {
  if (instance.attached->thread_locals().any()) return;
  std::optional<std::vector<FastArgument>> fast = fast_arguments(
      instance.arguments, replayer.translator().registers(), instance.attached->bundle().bias());
  if (!fast) return;
  instance.fast = std::move(*fast);
  instance.is_fast = is_plain(reinterpret_cast<const void*>(instance.function));
}

bool Regions::is_plain(const void* code) const {
  return std::ranges::any_of(bundles_, [&](const AttachedBundle& attached) {
    const Bundle& bundle = attached.bundle();
    auto constant = [&](uint64_t address) { return bundle.constant_slot(address); };
    return bundle.loaded() && is_plain_code(code, {bundle.needs_libc(), constant});
  });
}

void Regions::unload() {
  for (AttachedBundle& attached : bundles_)
    if (attached.bundle().loaded())
      runner_.run(
          unloading_, [](void* bundle) { static_cast<Bundle*>(bundle)->unload(); }, &attached.bundle());
}

void Regions::ended(replay::Replayer&) {
  std::fflush(stdout);
}

} // namespace rdb::debug
