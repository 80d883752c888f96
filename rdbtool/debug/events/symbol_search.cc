// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/events/symbol_search.h"

#include "descriptors/inspect.h"

#include <fnmatch.h>

namespace rdb::debug {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  auto fits = [&](const std::string& text) { return fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
  if (fits(name)) return true;
  if (!name.starts_with("_Z")) return false;
  std::string readable = descriptors::readable_name(name);
  return fits(readable) || fits(readable.substr(0, readable.find('(')));
}

// Of both tables, the whole one first.
template <class F>
void for_each_symbol(const elf::File& file, F&& function) {
  for (const elf::Symbol& symbol : file.symbols())
    function(symbol);
  for (const elf::Symbol& symbol : file.dynamic_symbols())
    function(symbol);
}

// "config.c:verbose", but not "Config::verbose".
struct VariableName {
  std::string source; // empty: any
  std::string name;

  explicit VariableName(const std::string& text) : name(text) {
    size_t colon = text.find(':');
    if (colon == std::string::npos || colon + 1 >= text.size() || text[colon + 1] == ':') return;
    source = text.substr(0, colon);
    name = text.substr(colon + 1);
  }
};

} // namespace

std::vector<FoundFunction> find_functions(const elf::File& file, const std::string& pattern) {
  std::vector<FoundFunction> found;
  for_each_symbol(file, [&](const elf::Symbol& symbol) {
    const bool is_indirect = symbol.type() == STT_GNU_IFUNC;
    if (!symbol.in_section() || (symbol.type() != STT_FUNC && !is_indirect)) return;
    std::string name(symbol.name);
    if (matches(pattern, name)) found.push_back({name, symbol.raw.st_value, is_indirect});
  });
  return found;
}

std::vector<FoundVariable> find_variables(const elf::File& file, const std::string& name) {
  const VariableName wanted(name);
  std::vector<FoundVariable> found;
  std::string current;     // the source file that local symbols are of
  bool has_source = false; // the wanted one was among them
  for_each_symbol(file, [&](const elf::Symbol& symbol) {
    if (symbol.type() == STT_FILE) {
      current = symbol.name;
      has_source |= current == wanted.source;
    }
    if (!symbol.in_section() || symbol.type() != STT_OBJECT || symbol.raw.st_size == 0) return;
    if (!wanted.source.empty() && !(symbol.global() ? has_source : wanted.source == current)) return;
    std::string text(symbol.name);
    if (text != wanted.name && descriptors::readable_name(text) != wanted.name) return;
    found.push_back({symbol.global() ? text : current + ":" + text, symbol.raw.st_value, symbol.raw.st_size});
  });
  return found;
}

} // namespace rdb::debug
