// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See ownership.h.
#include "llvm-passes/link/ownership.h"

#include "llvm-passes/link/private_names.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

namespace rdb::link {

namespace {

// Where the runtime's libraries are when the program is linked without them (static, -nostdlib).
constexpr std::string_view kStandardFolders[] = {
    "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
constexpr std::string_view kRuntimeLibraries[] = {"libc.so.6", "libm.so.6", "libstdc++.so.6",
                                                  "libgcc_s.so.1"};

std::string find_runtime(const Command& command, const Inputs& inputs, std::string_view soname) {
  for (const SharedLibrary& library : inputs.libraries())
    if (library.soname == soname) return library.path;
  if (std::string path = command.find_library(":" + std::string(soname), true); !path.empty()) return path;
  for (std::string_view folder : kStandardFolders) {
    std::string path = std::string(folder) + "/" + std::string(soname);
    std::error_code error;
    if (std::filesystem::exists(path, error)) return path;
  }
  return "";
}

void add_exports(const std::string& path, const std::string& name,
                 std::map<std::string, std::string, std::less<>>& out) {
  MappedFile file(path);
  if (!elf::is_elf(file.bytes())) return;
  for (const elf::Symbol& symbol : elf::File(file.bytes()).dynamic_symbols())
    if (symbol.global() && symbol.defined()) out.emplace(symbol.name, name);
}

// Is the program's wanted, whatever rule a says?
bool is_guest_slot(std::string_view slot) {
  return !slot.starts_with(kSlotPrefix);
}

} // namespace

Ownership::Ownership(const Command& command, const Inputs& inputs,
                     std::map<std::string, Definition, std::less<>> program,
                     std::set<std::string, std::less<>> module, std::set<std::string, std::less<>> support)
    : program_(std::move(program)), module_(std::move(module)), support_(std::move(support)) {
  for (std::string_view soname : kRuntimeLibraries) {
    std::string path = find_runtime(command, inputs, soname);
    if (path.empty()) continue;
    runtime_.push_back(path);
    add_exports(path, std::string(soname), private_);
  }
  for (const SharedLibrary& library : inputs.libraries())
    if (!library.system) add_exports(library.path, library.soname, libraries_);
}

bool Ownership::is_runtime_name(std::string_view name) const {
  static const std::unordered_set<std::string_view> names(std::begin(kPrivateNames), std::end(kPrivateNames));
  if (names.contains(name)) return true;
  if (std::ranges::any_of(kPrivatePrefixes,
                          [&](std::string_view prefix) { return name.starts_with(prefix); }))
    return true;
  auto found = private_.find(name);
  return found != private_.end() && (found->second == "libstdc++.so.6" || found->second == "libgcc_s.so.1");
}

std::optional<descriptors::Symbol> Ownership::decide(std::string_view slot) const {
  using descriptors::Owner;
  std::string name(symbol_of_slot(slot));
  bool guest = is_guest_slot(slot);
  descriptors::Symbol symbol;
  symbol.name = name;
  symbol.slot = slot;
  auto own = [&](Owner owner, std::string where) {
    symbol.owner = owner;
    symbol.where = std::move(where);
    return symbol;
  };
  auto runtime = private_.find(name);
  bool is_private = !guest && (is_runtime_name(name) || !program_.contains(name));
  if (is_private && support_.contains(name)) return own(Owner::host, "rdb");
  if (!guest && is_runtime_name(name) && runtime != private_.end()) return own(Owner::host, runtime->second);
  if (auto found = program_.find(name); found != program_.end() && !found->second.indirect) {
    symbol.address = descriptors::Address::absolute(found->second.address);
    symbol.thread_local_ = found->second.thread_local_;
    return own(Owner::program, found->second.where);
  }
  if (runtime != private_.end()) return own(guest ? Owner::library : Owner::host, runtime->second);
  if (auto found = libraries_.find(name); found != libraries_.end())
    return own(Owner::library, found->second);
  if (!guest && module_.contains(name)) return own(Owner::module, "");
  // In libc_nonshared.a, which the linker finds through libc.so.
  if (!guest && (name == "atexit" || name == "at_quick_exit")) return own(Owner::host, "libc.so.6");
  return std::nullopt;
}

std::string Ownership::why_not(std::string_view slot) const {
  std::string name(symbol_of_slot(slot));
  if (auto found = program_.find(name); found != program_.end() && found->second.indirect)
    return "'" + name + "' is an indirect function (ifunc), which debug code cannot call";
  if (auto found = unused_.find(name); found != unused_.end())
    return "'" + name + "' is defined in " + found->second +
           ", but the linker left it out of the program; keep it with -Wl,--undefined=" + name +
           ", or give its source to the debug code with --rdb-debug-source";
  // A static of a unit, by the unit's key.
  if (name.size() > 17 && name[16] == '_' && name.find_first_not_of("0123456789abcdef") == 16)
    return "the static variable '" + name.substr(17) + "' is not in the program: the compiler removed it";
  return "'" + name + "' is defined neither in the program, nor in a library of this link, nor in debug code";
}

} // namespace rdb::link
