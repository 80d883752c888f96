// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See compare_programs.h. Code that grows shifts everything behind it, and displacements differ before it: so
// the function to name is the first that is missing or has another size, and only if there is none the first
// whose bytes differ.
#include "descriptors/compare_programs.h"

#include "descriptors/identity.h"
#include "descriptors/inspect.h"
#include "rdbtool/base/visible_text.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace rdb::descriptors {

namespace {

struct Function {
  std::string name;
  uint64_t address;
  uint64_t size;
  std::string_view bytes;
};

// Functions by address; of two static ones with one name the second is "name#2".
std::vector<Function> functions_of(const elf::File& program) {
  std::vector<Function> functions;
  std::vector<elf::Symbol> symbols = program.symbols();
  if (symbols.empty()) symbols = program.dynamic_symbols();
  for (const elf::Symbol& symbol : symbols)
    if (symbol.type() == STT_FUNC && symbol.in_section() && symbol.raw.st_size != 0)
      functions.push_back({std::string(symbol.name), symbol.raw.st_value, symbol.raw.st_size,
                           program.loaded_at(symbol.raw.st_value, symbol.raw.st_size)});
  std::ranges::sort(functions, {}, [](const Function& f) { return std::pair(f.address, f.name); });
  std::map<std::string, int> seen;
  for (Function& function : functions)
    if (int number = ++seen[function.name]; number > 1) function.name += "#" + std::to_string(number);
  return functions;
}

std::string plural(uint64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// What functions say about the difference.
struct FunctionDifference {
  std::string first;
  size_t changed = 0; // missing, added or of another size
  size_t total = 0;
  std::vector<std::string> names; // of the changed ones
};

FunctionDifference compare_functions(const elf::File& original, const elf::File& program) {
  FunctionDifference result;
  std::vector<Function> before = functions_of(original), after = functions_of(program);
  std::map<std::string, const Function*> by_name;
  for (const Function& function : after)
    by_name[function.name] = &function;
  result.total = std::max(before.size(), after.size());
  std::string first_bytes;
  auto note = [&](const Function& function, const std::string& text) {
    if (result.first.empty()) result.first = "function " + readable_name(function.name) + text;
    ++result.changed;
    result.names.push_back(readable_name(function.name));
  };
  for (const Function& function : before) {
    auto found = by_name.find(function.name);
    if (found == by_name.end()) {
      note(function, " is missing");
      continue;
    }
    const Function& other = *found->second;
    if (other.size != function.size)
      note(function, ": " + plural(other.size, "byte") + ", was " + std::to_string(function.size));
    else if (other.bytes != function.bytes && first_bytes.empty())
      first_bytes = "function " + readable_name(function.name) + ", same size, other bytes";
    by_name.erase(found);
  }
  for (const Function& function : after)
    if (by_name.contains(function.name)) note(function, " is new");
  if (result.first.empty()) result.first = first_bytes;
  return result;
}

std::set<std::string> strings_in(std::string_view bytes) {
  std::set<std::string> strings;
  while (!bytes.empty()) {
    size_t end = std::min(bytes.find('\0'), bytes.size());
    if (end != 0) strings.emplace(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return strings;
}

// Who made the program: compilers and the linker, as they sign in .comment.
std::set<std::string> makers(const elf::File& program) {
  const elf::Section* comment = program.find(".comment");
  return comment == nullptr ? std::set<std::string>{} : strings_in(comment->bytes);
}

// The producers in debug information: compiler, and for some compilers or options its flags.
std::set<std::string> producers(const elf::File& program) {
  std::set<std::string> found;
  const elf::Section* strings = program.find(".debug_str");
  if (strings == nullptr || (strings->header.sh_flags & SHF_COMPRESSED) != 0) return found;
  for (const std::string& text : strings_in(strings->bytes))
    if (text.find("clang version") != std::string::npos || text.starts_with("GNU C")) found.insert(text);
  return found;
}

std::string joined(const std::set<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts)
    result += (result.empty() ? "" : ", ") + visible_text(text);
  return result.empty() ? "nothing" : result;
}

std::set<std::string> needed_libraries(const elf::File& program) {
  std::set<std::string> names;
  const elf::Section* dynamic = program.find(".dynamic");
  if (dynamic == nullptr) return names;
  std::string_view strings = program.section(dynamic->header.sh_link).bytes;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->bytes.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, dynamic->bytes.data() + at, sizeof entry);
    if (entry.d_tag == DT_NEEDED) names.emplace(elf::string_at(strings, entry.d_un.d_val));
  }
  return names;
}

bool same_section(const elf::Section& a, const elf::Section& b) {
  return a.bytes == b.bytes && a.header.sh_size == b.header.sh_size && a.header.sh_addr == b.header.sh_addr;
}

// The first loaded section that differs, for data and for programs without function symbols.
std::string first_section(const elf::File& original, const elf::File& program) {
  std::map<std::string_view, const elf::Section*> others;
  for (const elf::Section& section : program.sections())
    others.emplace(section.name, &section);
  for (const elf::Section& section : original.sections()) {
    if (!section.allocated() || section.name == ".note.gnu.build-id") continue;
    auto found = others.find(section.name);
    std::string name = "section " + visible_text(section.name);
    if (found == others.end()) return name + " is missing";
    const elf::Section& other = *found->second;
    if (other.header.sh_size != section.header.sh_size)
      return name + ": " + plural(other.header.sh_size, "byte") + ", was " +
             std::to_string(section.header.sh_size);
    if (other.bytes != section.bytes) {
      size_t at =
          static_cast<size_t>(std::ranges::mismatch(section.bytes, other.bytes).in1 - section.bytes.begin());
      return name + ", from byte " + std::to_string(at) + " on";
    }
  }
  return "the layout of the segments";
}

void find_reasons(const elf::File& original, const elf::File& program, const FunctionDifference& functions,
                  std::vector<std::string>& reasons) {
  std::set<std::string> before = makers(original), after = makers(program);
  // A stripped program may not say.
  if (before != after && !before.empty() && !after.empty())
    reasons.push_back("another compiler or linker: made by " + joined(after) + "; the original by " +
                      joined(before));
  std::set<std::string> old_producers = producers(original), new_producers = producers(program);
  if (!old_producers.empty() && !new_producers.empty() && old_producers != new_producers && before == after)
    reasons.push_back("other flags: compiled by " + joined(new_producers) + "; the original by " +
                      joined(old_producers));
  if (original.header().e_type != program.header().e_type)
    reasons.push_back("other flags: one is position-independent (-pie), the other is not");
  if (needed_libraries(original) != needed_libraries(program))
    reasons.push_back("linked with other libraries: " + joined(needed_libraries(program)) +
                      "; the original with " + joined(needed_libraries(original)));
  if (!reasons.empty()) return;
  if (functions.changed == 0) {
    reasons.push_back(
        "changed data or constants, or a __LINE__ that moved: code has its old size everywhere");
  } else if (functions.total >= 4 && functions.changed * 2 > functions.total) {
    reasons.push_back("other flags: " + std::to_string(functions.changed) + " of " +
                      plural(functions.total, "function") + " differ");
  } else {
    std::string list;
    for (size_t i = 0; i < functions.names.size() && i < 5; ++i)
      list += (i == 0 ? "" : ", ") + functions.names[i];
    if (functions.names.size() > 5) list += " ...";
    reasons.push_back("changed source: of " + plural(functions.total, "function") + " only " + list + " " +
                      (functions.changed == 1 ? "differs" : "differ"));
  }
}

} // namespace

Comparison compare_programs(const elf::File& original, const elf::File& program) {
  Comparison result;
  result.same_file = original.bytes() == program.bytes();
  result.same_loaded = program_identity(original).hash == program_identity(program).hash;
  if (result.same_file) return result;
  if (result.same_loaded) {
    std::map<std::string_view, const elf::Section*> others;
    for (const elf::Section& section : program.sections())
      others.emplace(section.name, &section);
    for (const elf::Section& section : original.sections()) {
      if (section.index == 0) continue;
      auto found = others.find(section.name);
      if (found == others.end() || !same_section(section, *found->second))
        result.other_sections.push_back(visible_text(section.name));
      if (found != others.end()) others.erase(found);
    }
    for (const auto& [name, section] : others)
      if (section->index != 0) result.other_sections.push_back(visible_text(name));
    return result;
  }
  FunctionDifference functions = compare_functions(original, program);
  result.first_difference = functions.first.empty() ? first_section(original, program) : functions.first;
  find_reasons(original, program, functions, result.reasons);
  return result;
}

} // namespace rdb::descriptors
