// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions.h"

#include "descriptors/elf_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/debug/refusal.h"
#include "rdbtool/engine/path.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

using descriptors::Class;

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

void write_fully(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, bytes, size);
    if (n <= 0) return;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
}

} // namespace

Regions::Regions(const RegionOptions& options) : options_(options) {
  int target = -1;
  if (!options.output.empty()) {
    target = open(options.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (target < 0) user_error("{}: {}", options.output, std::strerror(errno));
  }
  if (target < 0 && !options.prefix) return;
  std::fflush(stdout);
  // The replayed program's own output keeps going to the terminal.
  terminal_ = target >= 0 ? target : fcntl(1, F_DUPFD_CLOEXEC, 100);
  if (options.prefix) {
    captured_ = memfd_create("rdb-output", MFD_CLOEXEC);
    dup2(captured_, 1);
  } else {
    dup2(target, 1);
  }
}

Regions::~Regions() = default;

void Regions::add(std::unique_ptr<Bundle> bundle) {
  bundles_.push_back(std::move(bundle));
}

std::vector<std::string> Regions::unused() const {
  std::vector<std::string> result;
  for (const auto& bundle : bundles_)
    if (!bundle->loaded()) result.push_back(bundle->path());
  return result;
}

void Regions::mapped(replay::Replayer& replayer, const trace::MapInput& map) {
  if (!map.has_file || map.offset != 0) return;
  for (const auto& bundle : bundles_) {
    if (bundle->loaded() || base_name(map.path) != bundle->program()) continue;
    std::string copy = replayer.trace().files().path_of(map.file);
    std::string why = bundle->mismatch(copy);
    if (!why.empty()) user_error("{}", why);
    attach(replayer, *bundle, map.address.value, copy);
  }
}

void Regions::attach(replay::Replayer& replayer, Bundle& bundle, uint64_t begin, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  std::string bytes = text.str();
  elf::File program(bytes);
  uint64_t first = UINT64_MAX;
  for (const Elf64_Phdr& segment : program.segments()) {
    if (segment.p_type == PT_LOAD) first = std::min(first, guest::page_down(segment.p_vaddr));
    if (segment.p_type == PT_TLS) {
      uint64_t align = std::max<uint64_t>(segment.p_align, 1);
      tls_size_[&bundle] = (segment.p_memsz + align - 1) & ~(align - 1);
    }
  }
  bundle.load(begin - first);
  if (!nested_) nested_ = std::make_unique<NestedCalls>(replayer);

  const descriptors::Descriptors& d = bundle.descriptors();
  std::map<uint32_t, RegionCount*> counts;
  std::map<uint32_t, size_t> index;
  for (size_t i = 0; i < d.regions.size(); ++i) {
    const descriptors::Region& region = d.regions[i];
    std::string source;
    for (const descriptors::Source& s : d.sources)
      if (s.id == region.source) source = s.path;
    if (!selected(region, source)) continue;
    counts_.push_back({&region, fmt::format("{}:{}", source, region.begin_line)});
    counts[region.id] = &counts_.back();
    index[region.id] = i;
  }
  for (const descriptors::Location& location : d.locations) {
    auto known = counts.find(location.region);
    if (known == counts.end()) continue;
    Site site{&bundle, &location, bundle.function(index[location.region]), known->second, {}};
    if (site.function == nullptr) continue;
    site.arguments.resize(known->second->region->arguments);
    for (const descriptors::Argument& argument : d.arguments)
      if (argument.region == location.region && argument.instance == location.instance &&
          argument.position < site.arguments.size())
        site.arguments[argument.position] = &argument;
    uint64_t address = location.address.value + bundle.bias();
    (location.side == descriptors::Side::kBefore ? before_ : after_)[address].push_back(std::move(site));
    replayer.engine().add_stop(GuestAddr(address));
  }
  for (const descriptors::Entry& entry : d.entries) {
    uint64_t address = entry.address.value + bundle.bias();
    entries_[address].push_back(&entry);
    replayer.engine().add_stop(GuestAddr(address));
  }
}

bool Regions::selected(const descriptors::Region& region, const std::string& file) const {
  if (options_.only.empty()) return true;
  for (const std::string& wish : options_.only) {
    size_t colon = wish.rfind(':');
    std::string name = colon == std::string::npos ? "" : wish.substr(0, colon);
    unsigned line = static_cast<unsigned>(
        std::strtoul(wish.c_str() + (colon == std::string::npos ? 0 : colon + 1), nullptr, 10));
    if (!name.empty() && base_name(file) != base_name(name)) continue;
    if (line >= region.begin_line && line <= region.end_line) return true;
  }
  return false;
}

void Regions::before(replay::Replayer& replayer, GuestAddr pc) {
  if (auto found = entries_.find(pc.value); found != entries_.end()) {
    // A new call of the function: whatever an older call left at this frame is over. Its CFA is rsp + 8.
    uint64_t cfa = replayer.registers().gpr[engine::RSP] + 8;
    for (const descriptors::Entry* entry : found->second)
      activations_.erase({entry->activation, cfa});
  }
  if (auto found = before_.find(pc.value); found != before_.end())
    for (Site& site : found->second)
      call(replayer, site);
  if (auto found = returns_.find(pc.value); found != returns_.end()) {
    // Frames that were left in other ways lie below: they are over.
    uint64_t sp = replayer.registers().gpr[engine::RSP];
    std::vector<Return>& waiting = found->second;
    while (!waiting.empty() && waiting.back().sp < sp)
      waiting.pop_back();
    if (!waiting.empty() && waiting.back().sp == sp) {
      uint64_t from = waiting.back().call;
      waiting.pop_back();
      for (Site& site : after_[from])
        call(replayer, site);
    }
  }
  if (after_.count(pc.value)) await(replayer, pc.value);
}

// Finds out what "after this instruction" means: the next one, or the return of the call that it is.
void Regions::await(replay::Replayer& replayer, uint64_t pc) {
  engine::Path one;
  engine::find_basic(replayer.space(), {}, pc, 1, one);
  if (one.steps.empty()) return;
  const engine::Instruction& instruction = one.steps[0].instruction;
  after_length_ = instruction.length;
  after_call_ = instruction.kind == engine::Kind::call || instruction.kind == engine::Kind::call_indirect;
  if (!after_call_) return;
  if (returns_.count(instruction.end()) == 0) replayer.engine().add_stop(GuestAddr(instruction.end()));
  returns_[instruction.end()].push_back({pc, replayer.registers().gpr[engine::RSP]});
}

bool Regions::wants_after(GuestAddr pc) {
  return !after_call_ && after_.count(pc.value) != 0;
}

void Regions::after(replay::Replayer& replayer, GuestAddr pc) {
  if (replayer.registers().rip != pc.value + after_length_) return; // a branch went elsewhere
  for (Site& site : after_[pc.value])
    call(replayer, site);
}

uint64_t Regions::tls_block(replay::Replayer& replayer, const Bundle& bundle) const {
  auto size = tls_size_.find(&bundle);
  return size == tls_size_.end() ? 0 : replayer.registers().fs_base - size->second;
}

void* Regions::activation(const descriptors::Part& part, const Frame& frame, const Site& site) {
  uint64_t cfa =
      general_register(frame.engine.registers(), part.reg) + static_cast<uint64_t>(part.reg_offset);
  std::vector<std::byte>& storage = activations_[{part.activation, cfa}];
  for (const descriptors::Activation& a : site.bundle->descriptors().activations)
    if (a.id == part.activation && storage.size() < a.size) storage.resize(a.size);
  return storage.data();
}

void Regions::call(replay::Replayer& replayer, Site& site) {
  RegionCount& count = *site.count;
  uint64_t now = replayer.now().value;
  if (!count.disabled.empty() || count.hits >= options_.max_hits || now < options_.from || now > options_.to)
    return;
  Frame frame{replayer.translator(), replayer.space(), site.bundle->bias(),
              tls_block(replayer, *site.bundle)};
  buffer_.reset();
  std::vector<void*> arguments(site.arguments.size() + 1);
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    std::string reason = "not described";
    const descriptors::Argument* argument = site.arguments[i];
    if (argument != nullptr && argument->parts.size() == 1 && argument->parts[0].cls == Class::kActivation)
      arguments[i] = activation(argument->parts[0], frame, site);
    else if (argument != nullptr)
      arguments[i] = locate(*argument, frame, buffer_, reason);
    if (arguments[i] != nullptr) continue;
    if (count.skipped++ == 0)
      fmt::print(stderr, "rdb: {}: not run at time {}: {} is unavailable there ({})\n", count.place, now,
                 argument != nullptr ? argument->name : "an argument", reason);
    return;
  }
  const auto& symbols = site.bundle->descriptors().symbols;
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].thread_local_)
      site.bundle->slot(i) = reinterpret_cast<void*>(frame.tls_block + symbols[i].address.value);

  ++count.hits;
  // The guest's x87 state is still in the CPU; its vector registers are saved already.
  alignas(16) std::byte x87[512];
  asm volatile("fxsave64 %0; fninit" : "=m"(x87));
  auto start = std::chrono::steady_clock::now();
  Escape escape;
  nested_->begin_region();
  if (sigsetjmp(escape.place, 1) == 0) {
    set_escape(&escape);
    site.function(arguments.data());
  } else {
    count.disabled = escape.reason;
  }
  set_escape(nullptr);
  nested_->end_region();
  count.nanoseconds += static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count());
  site.bundle->flush();
  asm volatile("fxrstor64 %0" : : "m"(x87));
  if (captured_ >= 0) show_output(replayer, count);
  if (!count.disabled.empty())
    fmt::print(stderr, "rdb: {}: {}; this region is not run any more\n", count.place, count.disabled);
}

void Regions::show_output(replay::Replayer& replayer, const RegionCount& count) {
  std::fflush(stdout);
  off_t size = lseek(captured_, 0, SEEK_END);
  if (size <= 0) return;
  std::string text(static_cast<size_t>(size), '\0');
  ssize_t n = pread(captured_, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (ftruncate(captured_, 0) != 0 || lseek(captured_, 0, SEEK_SET) != 0)
    bug("cannot empty the output buffer");
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    result += fmt::format("[{} {} {}] ", replayer.now().value, replayer.thread().value, count.place);
    result.append(text, at, end - at);
    at = end;
  }
  if (result.back() != '\n') result += '\n';
  write_fully(terminal_, result.data(), result.size());
}

bool Regions::host_fault(replay::Replayer& replayer, int signal, siginfo_t* info, void* context) {
  if (!can_escape()) return false;
  // Guest code that runs in a nested call is the engine's to explain.
  if (replayer.translator().handle_signal(signal, info, context)) return true;
  if (nested_->redirect(signal, info, context)) return true;
  give_up(fmt::format("debug code crashed with signal {} (address {})", signal, info->si_addr));
}

void Regions::ended(replay::Replayer&) {
  std::fflush(stdout);
}

} // namespace rdb::debug
