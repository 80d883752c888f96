// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/regions.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/log.h"
#include "rdbtool/base/path.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/events/nonlocal_exit.h"
#include "rdbtool/debug/regions/plain_code.h"
#include "rdbtool/engine/instructions/dwarf_registers.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <utility>

namespace rdb::debug {
namespace {

using descriptors::Class;

// "libz.so" of "/usr/lib/libz.so.1.3".
std::string library_name(std::string_view path) {
  std::string name(base_name(path));
  size_t end = name.find(".so");
  return end == std::string::npos ? name : name.substr(0, end + 3);
}

std::string source_of(const descriptors::Descriptors& d, const descriptors::Region& region) {
  for (const descriptors::Source& source : d.sources)
    if (source.id == region.source) return source.path;
  return "?";
}

// What --only says: a file, a line, or both.
struct Wish {
  std::string file;
  unsigned line = 0; // 0: any

  explicit Wish(const std::string& text) {
    size_t colon = text.rfind(':');
    size_t digits = colon == std::string::npos ? 0 : colon + 1;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + digits, end, line);
    if (error == std::errc() && stop == end) {
      file = base_name(text.substr(0, colon == std::string::npos ? 0 : colon));
    } else {
      file = base_name(text);
      line = 0;
    }
  }
};

bool selected_by(const std::string& only, const descriptors::Region& region, const std::string& file) {
  Wish wish(only);
  if (!wish.file.empty() && base_name(file) != wish.file) return false;
  return wish.line == 0 || (wish.line >= region.begin_line && wish.line <= region.end_line);
}

} // namespace

Regions::Regions(const RegionOptions& options, RegionRunner& runner) : options_(options), runner_(runner) {}

Regions::~Regions() = default;

void Regions::add(std::unique_ptr<Bundle> bundle) {
  bundles_.emplace_back().bundle = std::move(bundle);
}

void Regions::check_selection() const {
  if (options_.from > options_.to)
    user_error("--from {} --until {}: no region runs between them", options_.from, options_.to);
  for (const std::string& only : options_.only) {
    bool found = false;
    std::string all;
    for (const Attached& attached : bundles_) {
      const descriptors::Descriptors& d = attached.bundle->descriptors();
      for (const descriptors::Region& region : d.regions) {
        std::string source = source_of(d, region);
        found |= selected_by(only, region, source);
        all += fmt::format("\n  {}:{}", source, region.begin_line);
      }
    }
    if (!found)
      user_error("--only {}: there is no such region; there are:{}", only, all.empty() ? " none" : all);
  }
}

unsigned Regions::edited_line(const std::string& file, unsigned line) const {
  for (const Attached& attached : bundles_)
    for (const descriptors::Source& source : attached.bundle->descriptors().sources) {
      if (base_name(source.path) != file) continue;
      for (const descriptors::Source::Range& range : source.removed)
        if (line >= range.first) line += range.last - range.first + 1;
      return line;
    }
  return line;
}

std::vector<std::string> Regions::unused() const {
  std::vector<std::string> result;
  for (const Attached& attached : bundles_)
    if (!attached.bundle->loaded() && !attached.bundle->found_by_itself())
      result.push_back(attached.mismatch.empty()
                           ? fmt::format("{} was not used: what is replayed does not load {}",
                                         attached.bundle->path(), attached.bundle->program())
                           : attached.mismatch);
  return result;
}

void Regions::mapped(replay::Replayer& replayer, const trace::MapInput& map) {
  for (Attached& attached : bundles_)
    if (attached.bundle->loaded()) follow(replayer, attached, map);
  if (!map.has_file || map.offset != 0) return;
  std::unique_ptr<ProgramFile> file;
  auto open = [&]() -> const ProgramFile& {
    if (!file) file = std::make_unique<ProgramFile>(replayer.trace().files().path_of(map.file));
    return *file;
  };
  try {
    for (Attached& attached : bundles_) {
      Bundle& bundle = *attached.bundle;
      if (bundle.loaded()) continue;
      // Files are copied and renamed: what they hold tells.
      if (!bundle.fits(open())) {
        if (base_name(map.path) == bundle.program()) attached.mismatch = bundle.mismatch(open());
        continue;
      }
      attach(replayer, attached, map.address.value, open());
      attached.file = map.file;
    }
    if (base_name(map.path).starts_with("libc.so")) find_libc(open(), map.address.value);
    for (Attached& attached : bundles_)
      if (!attached.library_symbols.empty()) {
        bind_library(open(), map);
        break;
      }
  } catch (const elf::Error&) {
    return; // not a program, whatever its name
  }
}

// A library may go and come back, somewhere else perhaps: then its code is mapped there.
void Regions::follow(replay::Replayer& replayer, Attached& attached, const trace::MapInput& map) {
  Bundle& bundle = *attached.bundle;
  const ProgramFile::Code& code = attached.code;
  uint64_t begin = map.address.value, end = begin + map.length;
  bool is_own = map.has_file && map.file == attached.file;
  if (!is_own) {
    bool is_over = begin < code.end + bundle.bias() && end > code.begin + bundle.bias();
    if (is_over && attached.has_places) remove_places(replayer, attached);
    return;
  }
  if (!(map.protection & PROT_EXEC) || map.offset != code.offset) return;
  uint64_t bias = begin - code.begin;
  if (attached.has_places) {
    if (bias == bundle.bias()) return;
    const guest::Mapping* old = replayer.space().find(code.begin + bundle.bias());
    // A second copy of it, in a namespace of its own.
    if (old != nullptr && old->protection & PROT_EXEC && old->name == map.path) return;
    remove_places(replayer, attached);
  }
  bundle.move(bias);
  attached.tls_thread = 0;
  add_places(replayer, attached);
}

// Symbols of other shared libraries are found when those come.
void Regions::bind_library(const ProgramFile& file, const trace::MapInput& map) {
  for (Attached& attached : bundles_) {
    const auto& symbols = attached.bundle->descriptors().symbols;
    std::erase_if(attached.library_symbols, [&](size_t i) {
      if (library_name(symbols[i].where) != library_name(map.path)) return false;
      std::optional<uint64_t> address = file.exported(symbols[i].name);
      if (!address) return false;
      attached.bundle->slot(i) = reinterpret_cast<void*>(*address + file.bias(map.address.value));
      return true;
    });
  }
}

void Regions::find_libc(const ProgramFile& file, uint64_t begin) {
  auto address = [&](std::string_view name) {
    std::optional<uint64_t> found = file.exported(name);
    return found ? *found + file.bias(begin) : 0;
  };
  errno_function_ = address("__errno_location");
  set_guest_streams(address("_IO_2_1_stdout_"), address("_IO_2_1_stderr_"));
  if (address("gnu_get_libc_version") == 0) return;
  for (std::string_view name : kJumpsOut)
    if (uint64_t function = address(name); function != 0) after_.add_jump(function);
  std::vector<uint64_t> allocators;
  for (std::string_view name : {"malloc", "calloc", "realloc", "aligned_alloc", "memalign"})
    allocators.push_back(address(name));
  std::erase(allocators, 0);
  set_guest_allocators(std::move(allocators));
}

// Where libc keeps errno. It finds it by loading its offset from a place that ld.so has filled:
// endbr64; mov rax, [rip + place]; add rax, fs:0; ret.
void Regions::find_errno(replay::Replayer& replayer) {
  uint8_t code[16] = {};
  replayer.space().read(GuestAddr(errno_function_), code, sizeof code);
  constexpr uint8_t kEndbr[] = {0xF3, 0x0F, 0x1E, 0xFA};
  constexpr uint8_t kLoad[] = {0x48, 0x8B, 0x05};
  size_t at = std::memcmp(code, kEndbr, sizeof kEndbr) == 0 ? sizeof kEndbr : 0;
  uint64_t offset = 0;
  int32_t distance;
  std::memcpy(&distance, code + at + sizeof kLoad, sizeof distance);
  uint64_t place =
      errno_function_ + at + sizeof kLoad + sizeof distance + static_cast<uint64_t>(int64_t{distance});
  if (std::memcmp(code + at, kLoad, sizeof kLoad) != 0 ||
      replayer.space().read(GuestAddr(place), &offset, sizeof offset) != sizeof offset)
    errno_function_ = 0; // another libc
  else
    set_guest_errno(*(errno_offset_ = offset));
}

// The errno of the thread that runs.
int Regions::guest_errno(replay::Replayer& replayer) {
  if (errno_function_ == 0) return 0;
  if (!errno_offset_) {
    find_errno(replayer);
    if (!errno_offset_) return 0;
  }
  int value = 0;
  GuestAddr place(replayer.registers().fs_base + *errno_offset_);
  if (replayer.space().is_plain(place.value, sizeof value))
    std::memcpy(&value, place.ptr(), sizeof value);
  else
    replayer.space().read(place, &value, sizeof value);
  return value;
}

void Regions::attach(replay::Replayer& replayer, Attached& attached, uint64_t begin,
                     const ProgramFile& file) {
  runner_.attach(replayer);
  replayer_ = &replayer;
  Bundle& bundle = *attached.bundle;
  attached.thread_locals = file.thread_locals();
  const descriptors::Descriptors& d = bundle.descriptors();
  log_line(Topic::debug, "{} belongs to what is mapped at {:#x}", bundle.path(), begin);
  runner_.load(bundle, file.bias(begin));
  for (size_t i = 0; i < d.symbols.size(); ++i) {
    if (d.symbols[i].owner == descriptors::Owner::kLibrary)
      attached.library_symbols.push_back(i);
    else if (d.symbols[i].thread_local_)
      attached.tls_symbols.push_back(i);
  }

  attached.has_thread_locals =
      !attached.tls_symbols.empty() ||
      std::any_of(d.arguments.begin(), d.arguments.end(), [](const descriptors::Argument& argument) {
        return std::any_of(argument.parts.begin(), argument.parts.end(),
                           [](const descriptors::Part& part) { return part.cls == Class::kTls; });
      });
  thread_locals_used_ |= attached.has_thread_locals;

  for (size_t i = 0; i < d.regions.size(); ++i) {
    std::string source = source_of(d, d.regions[i]);
    if (!selected(d.regions[i], source)) continue;
    counts_.push_back({.place = fmt::format("{}:{}", source, d.regions[i].begin_line)});
    attached.regions[d.regions[i].id] = {&counts_.back(), i};
  }
  for (const elf::Symbol& symbol : file.elf().symbols()) // of libc, in a static program
    if (symbol.defined() && std::ranges::find(kJumpsOut, symbol.name) != kJumpsOut.end())
      after_.add_jump(symbol.raw.st_value + file.bias(begin));
  attached.code = file.code();
  add_places(replayer, attached);
}

void Regions::add_places(replay::Replayer& replayer, Attached& attached) {
  Bundle& bundle = *attached.bundle;
  const descriptors::Descriptors& d = bundle.descriptors();
  attached.has_places = true;
  std::map<std::pair<uint32_t, uint32_t>, Site> sites; // by region and instance
  for (const descriptors::Location& location : d.locations) {
    auto known = attached.regions.find(location.region);
    if (known == attached.regions.end()) continue;
    auto [count, index] = known->second;
    DebugFunction function = bundle.function(index);
    if (function == nullptr) continue;
    size_t arguments = d.regions[index].arguments;
    sites[{location.region, location.instance}] =
        Site{&attached, function, count, std::vector<const descriptors::Argument*>(arguments),
             std::vector<void*>(arguments + 1)};
  }
  for (const descriptors::Argument& argument : d.arguments) {
    auto site = sites.find({argument.region, argument.instance});
    if (site != sites.end() && argument.position < site->second.arguments.size())
      site->second.arguments[argument.position] = &argument;
  }
  for (const descriptors::Location& location : d.locations) {
    auto site = sites.find({location.region, location.instance});
    if (site == sites.end()) continue;
    uint64_t address = location.address.value + bundle.bias();
    Place& place = place_at(address);
    (location.side == descriptors::Side::kBefore ? place.before : place.after).push_back(site->second);
  }
  for (const descriptors::Entry& entry : d.entries) {
    place_at(entry.address.value + bundle.bias()).activations.emplace_back(&attached, entry.activation);
  }
  hook_places(replayer);
}

void Regions::remove_places(replay::Replayer& replayer, Attached& attached) {
  attached.has_places = false;
  auto is_its = [&](const Site& site) { return site.attached == &attached; };
  for (auto entry = places_.begin(); entry != places_.end();) {
    auto& [address, place] = *entry;
    std::erase_if(place.before, is_its);
    std::erase_if(place.after, is_its);
    std::erase_if(place.activations, [&](const auto& activation) { return activation.first == &attached; });
    if (!place.before.empty() || !place.after.empty() || !place.activations.empty()) {
      ++entry;
      continue;
    }
    places_by_pc_.set(address, nullptr);
    replayer.translator().remove_hook(GuestAddr(address));
    entry = places_.erase(entry);
  }
}

Regions::Place& Regions::place_at(uint64_t address) {
  auto [entry, fresh] = places_.try_emplace(address);
  Place& place = entry->second;
  if (!fresh) return place;
  place.regions = this;
  places_by_pc_.set(address, &place);
  unhooked_.push_back(address);
  return place;
}

void Regions::hook_places(replay::Replayer& replayer) {
  auto arrive = [](void* context, void* argument, uint64_t pc) {
    auto& where = *static_cast<Place*>(argument);
    auto& run = *static_cast<replay::Replayer*>(context);
    where.regions->arrive(run, where, pc);
    run.settle();
  };
  for (uint64_t address : std::exchange(unhooked_, {})) {
    Place& place = places_.at(address);
    engine::DirectHook hook{.function = arrive, .argument = &place};
    if (place.before.size() == 1 && place.after.empty() && place.activations.empty()) {
      prepare_fast(replayer, place.before.front());
      if (place.before.front().is_fast) hook.fast = &arrive_fast;
    }
    replayer.translator().add_hook(GuestAddr(address), hook);
  }
}

// Finds out whether a region can be run without leaving the guest's FS base and vector registers.
void Regions::prepare_fast(replay::Replayer& replayer, Site& site) const {
  static const uint64_t zero = 0;
  const engine::Registers& registers = replayer.translator().registers();
  if (site.attached->has_thread_locals) return;
  for (const descriptors::Argument* argument : site.arguments) {
    if (argument == nullptr || argument->parts.size() != 1) return;
    const descriptors::Part& part = argument->parts[0];
    bool fits = part.offset == 0 && part.size <= sizeof(uint64_t) && argument->size <= sizeof(uint64_t);
    FastArgument fast{&zero, 0, true};
    switch (part.cls) {
    case Class::kStack:
    case Class::kRegister:
      if (part.reg >= std::size(engine::kDwarfOrder)) return;
      fast.base = &registers.gpr[engine::kDwarfOrder[part.reg]];
      fast.is_address = part.cls == Class::kStack;
      if (fast.is_address) fast.offset = static_cast<uint64_t>(part.reg_offset);
      if (!fast.is_address && !fits) return;
      break;
    case Class::kGlobal:
      fast.offset = part.address.value + site.attached->bundle->bias();
      break;
    case Class::kConstant:
      if (!fits) return;
      std::memcpy(&fast.offset, part.bytes.data(), std::min<size_t>(part.size, part.bytes.size()));
      fast.is_address = false;
      break;
    default:
      return;
    }
    site.fast.push_back(fast);
  }
  site.is_fast = is_plain(reinterpret_cast<const void*>(site.function));
}

bool Regions::is_plain(const void* code) const {
  return std::any_of(bundles_.begin(), bundles_.end(), [&](const Attached& attached) {
    const Bundle& bundle = *attached.bundle;
    auto constant = [&](uint64_t address) { return bundle.constant_slot(address); };
    return bundle.loaded() && is_plain_code(code, {bundle.needs_libc(), constant});
  });
}

int Regions::errno_now(void* self) {
  auto& regions = *static_cast<Regions*>(self);
  return regions.guest_errno(*regions.replayer_);
}

bool Regions::selected(const descriptors::Region& region, const std::string& file) const {
  return options_.only.empty() ||
         std::any_of(options_.only.begin(), options_.only.end(),
                     [&](const std::string& text) { return selected_by(text, region, file); });
}

void Regions::hooked(replay::Replayer& replayer, GuestAddr pc) {
  // What is behind the last instruction comes before what is in front of the next.
  if (after_.waits()) arrive_after(replayer, pc.value);
  if (Place* place = places_by_pc_.find(pc.value)) arrive(replayer, *place, pc.value);
}

void Regions::arrive(replay::Replayer& replayer, Place& place, uint64_t pc) {
  if (!place.activations.empty()) begin_activations(replayer, place);
  for (Site& site : place.before)
    call(replayer, site);
  if (!place.after.empty()) after_.expect(replayer, pc);
}

void Regions::arrive_after(replay::Replayer& replayer, uint64_t pc) {
  std::vector<uint64_t> done;
  after_.arrive(replayer, pc, done);
  for (uint64_t instruction : done)
    if (Place* place = places_by_pc_.find(instruction))
      for (Site& site : place->after)
        call(replayer, site);
}

// A new call of the function: whatever an older call left at this frame is over. Its CFA is rsp + 8.
void Regions::begin_activations(replay::Replayer& replayer, const Place& place) {
  uint64_t cfa = replayer.registers().gpr[engine::RSP] + 8;
  for (auto [attached, id] : place.activations)
    activations_.erase({attached, id, cfa});
}

void* Regions::activation(const descriptors::Part& part, const ArgumentSource& frame,
                          const Attached& attached) {
  uint64_t cfa =
      general_register(frame.engine.registers(), part.reg) + static_cast<uint64_t>(part.reg_offset);
  std::vector<std::byte>& storage = activations_[{&attached, part.activation, cfa}];
  if (storage.empty())
    for (const descriptors::Activation& a : attached.bundle->descriptors().activations)
      if (a.id == part.activation) storage.resize(a.size);
  return storage.data();
}

void* Regions::value_of(const descriptors::Argument* argument, const ArgumentSource& frame, const Site& site,
                        std::string& reason) {
  if (argument == nullptr) {
    reason = "not described";
    return nullptr;
  }
  if (argument->parts.size() == 1 && argument->parts[0].cls == Class::kActivation)
    return activation(argument->parts[0], frame, *site.attached);
  return locate(*argument, frame, buffer_, reason);
}

// The block may come to be only when the thread first uses it.
void Regions::find_thread_locals(replay::Replayer& replayer, Attached& attached, uint64_t thread_pointer) {
  constexpr uint64_t kTable = 8, kEntrySize = 16, kNotMadeYet = ~uint64_t{0}; // in glibc
  const ThreadLocals& known = attached.thread_locals;
  uint64_t bias = attached.bundle->bias();
  bool good = true;
  auto word = [&](uint64_t address) {
    uint64_t value = 0;
    good = good && replayer.space().read(GuestAddr(address), &value, sizeof value) == sizeof value;
    return value;
  };
  uint64_t block = 0;
  if (known.below != 0) {
    block = thread_pointer - known.below;
  } else if (known.offset_at) {
    uint64_t offset = word(bias + *known.offset_at);
    if (good && offset != 0) block = thread_pointer + offset - known.offset_of;
  } else if (known.number_at) {
    uint64_t number = word(bias + *known.number_at);
    uint64_t table = word(thread_pointer + kTable);
    if (good && number != 0 && number <= word(table - kEntrySize)) block = word(table + number * kEntrySize);
    if (!good || block == kNotMadeYet) block = 0;
  }
  attached.tls_block = block;
  attached.tls_thread = block != 0 ? thread_pointer : 0;
  for (size_t i : attached.tls_symbols)
    attached.bundle->slot(i) =
        block == 0 ? nullptr
                   : reinterpret_cast<void*>(block + attached.bundle->descriptors().symbols[i].address.value);
}

void Regions::find_all_thread_locals(replay::Replayer& replayer) {
  uint64_t thread_pointer = replayer.registers().fs_base;
  if (const guest::Thread* thread = replayer.loaded())
    for (Attached& attached : bundles_)
      attached.bundle->use_thread(thread->order);
  for (Attached& attached : bundles_)
    if (attached.has_thread_locals && attached.bundle->loaded() && attached.tls_thread != thread_pointer)
      find_thread_locals(replayer, attached, thread_pointer);
}

void Regions::skip(Site& site, uint64_t now, const std::string& why) const {
  if (site.count->skipped++ == 0 && options_.report_skipped)
    print_error("rdb: {}: not run at time {}: {}\n", site.count->place, now, why);
}

void Regions::call(replay::Replayer& replayer, Site& site) {
  RegionCount& count = *site.count;
  uint64_t now = replayer.now().value;
  if (!count.disabled.empty() || count.hits >= options_.max_hits || now < options_.from || now > options_.to)
    return;
  Attached& attached = *site.attached;
  if (const guest::Thread* thread = replayer.loaded()) attached.bundle->use_thread(thread->order);
  if (attached.has_thread_locals) {
    uint64_t thread_pointer = replayer.registers().fs_base;
    if (attached.tls_thread != thread_pointer) find_thread_locals(replayer, attached, thread_pointer);
    if (!attached.tls_symbols.empty() && attached.tls_block == 0)
      return skip(site, now, "this thread has not used the library's variables yet");
  }
  if (!site.arguments.empty() && !find_arguments(replayer, site, now)) return;
  runner_.run(count, reinterpret_cast<RegionRunner::Code>(site.function), site.values.data(),
              guest_errno(replayer));
}

// False if one cannot be had.
bool Regions::find_arguments(replay::Replayer& replayer, Site& site, uint64_t now) {
  ArgumentSource frame{replayer.translator(), replayer.space(), site.attached->bundle->bias(),
                       site.attached->tls_block};
  buffer_.reset();
  std::string reason;
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    site.values[i] = value_of(site.arguments[i], frame, site, reason);
    if (site.values[i] != nullptr) continue;
    skip(site, now,
         fmt::format("{} is unavailable there ({})",
                     site.arguments[i] != nullptr ? site.arguments[i]->name : "an argument", reason));
    return false;
  }
  return true;
}

bool Regions::host_fault(replay::Replayer&, int signal, siginfo_t* info, void* context) {
  return runner_.host_fault(signal, info, context);
}

void Regions::interrupted(replay::Replayer&, int signal, void* context) {
  if (signal == SIGALRM) runner_.tick(context);
  if (signal == SIGABRT) runner_.aborted(context);
}

void Regions::unload() {
  for (Attached& attached : bundles_)
    if (attached.bundle->loaded())
      runner_.run(
          unloading_, [](void* bundle) { static_cast<Bundle*>(bundle)->unload(); }, attached.bundle.get());
}

void Regions::ended(replay::Replayer&) {
  std::fflush(stdout);
}

} // namespace rdb::debug
