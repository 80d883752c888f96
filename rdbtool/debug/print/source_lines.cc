// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/print/source_lines.h"

#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/print/dwarf_depth.h"
#include "rdbtool/replay/debug_info_size.h"

#include <cstdlib>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>
#include <vector>

namespace rdb::debug {
namespace {

struct WantedLines {
  const std::string& source;
  unsigned first, last;
  std::map<unsigned, LineCode>& lines;
};

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  const char* name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return name != nullptr ? name : "";
}

bool has_place(Dwarf_Die* variable, Dwarf_Addr pc) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(variable, DW_AT_const_value, &attribute) != nullptr) return true;
  if (dwarf_attr_integrate(variable, DW_AT_location, &attribute) == nullptr) return false;
  Dwarf_Op* operations;
  size_t length = 0;
  return dwarf_getlocation_addr(&attribute, pc, &operations, &length, 1) > 0 && length > 0;
}

// In scope there, and declared above the line.
bool nameable(Dwarf_Die* die, unsigned line) {
  int tag = dwarf_tag(die);
  if (tag == DW_TAG_formal_parameter) return true;
  Dwarf_Attribute attribute;
  Dwarf_Word declared = 0;
  if (tag != DW_TAG_variable) return false;
  return dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute), &declared) == 0 &&
         declared < line;
}

using Dies = std::unique_ptr<Dwarf_Die[], void (*)(void*)>;

bool is_function(Dwarf_Die* die) {
  int tag = dwarf_tag(die);
  return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

// Where functions are inlined, several are at the same instruction: the one that the line is in is the last
// that begins above it. Returns the innermost scope in that function, with `chain` what contains `pc`.
int first_scope(Dwarf_Die* chain, int count, unsigned line) {
  int best = 0, begin = 0;
  Dwarf_Word best_line = 0;
  for (int i = 0; i < count; ++i) {
    if (!is_function(&chain[i])) continue;
    Dwarf_Attribute attribute;
    Dwarf_Word declared = 0;
    dwarf_formudata(dwarf_attr_integrate(&chain[i], DW_AT_decl_line, &attribute), &declared);
    if (declared <= line && declared > best_line) {
      best = begin;
      best_line = declared;
    }
    begin = i + 1;
  }
  return best;
}

// What can be named at `pc`, and whether it has a place there; a name that is nearer hides those further out.
std::map<std::string, bool> variables_at(Dwarf_Die* unit, Dwarf_Addr pc, unsigned line) {
  std::map<std::string, bool> variables;
  Dwarf_Die* found = nullptr;
  if (dwarf_getscopes(unit, pc, &found) <= 0) return variables;
  Dies innermost(found, std::free);
  int count = dwarf_getscopes_die(&innermost[0], &found);
  if (count <= 0) return variables;
  Dies chain(found, std::free);
  for (int i = first_scope(chain.get(), count, line); i < count; ++i) {
    Dwarf_Die child;
    if (dwarf_child(&chain[i], &child) == 0) {
      do {
        std::string name = name_of(&child);
        if (!name.empty() && nameable(&child, line)) variables.try_emplace(name, has_place(&child, pc));
      } while (dwarf_siblingof(&child, &child) == 0);
    }
    if (is_function(&chain[i])) break;
  }
  return variables;
}

// A line has what it has wherever its code begins. Without a unit, only the place counts.
void add_begin(Dwarf_Die* unit, Dwarf_Addr pc, unsigned line, LineCode& code) {
  bool first = code.begins.empty();
  if (!code.begins.insert(pc).second || unit == nullptr) return;
  std::map<std::string, bool> here = variables_at(unit, pc, line);
  for (auto& [name, has_place] : here)
    if (has_place && first)
      code.available.insert(name);
    else if (!code.available.contains(name))
      code.unavailable.insert(name);
  std::erase_if(code.available, [&](const std::string& name) {
    auto known = here.find(name);
    if (known != here.end() && known->second) return false;
    code.unavailable.insert(name);
    return true;
  });
}

// Where code of a wanted line begins: at the statements whose predecessor belongs to another line.
void read_unit(Dwarf_Die* unit, const WantedLines& range) {
  Dwarf_Lines* rows;
  size_t count;
  if (dwarf_getsrclines(unit, &rows, &count) != 0) return;
  bool looked_at = false;
  Dwarf_Die* scopes = unit; // whose variables are listed; null: none are
  unsigned before = 0;      // the line of the row before, 0 if it is none of the source's
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(rows, i);
    int number = 0;
    bool is_statement = false, ends = false;
    Dwarf_Addr address = 0;
    dwarf_lineno(row, &number);
    dwarf_linebeginstatement(row, &is_statement);
    dwarf_lineendsequence(row, &ends);
    dwarf_lineaddr(row, &address);
    const char* path = dwarf_linesrc(row, nullptr, nullptr);
    auto line = static_cast<unsigned>(number);
    bool wanted = !ends && line >= range.first && line <= range.last && path != nullptr &&
                  names_source(path, range.source);
    if (wanted && !looked_at) {
      looked_at = true;
      if (is_too_deep(unit)) scopes = nullptr;
    }
    if (wanted && is_statement && line != before) add_begin(scopes, address, line, range.lines[line]);
    before = wanted ? line : 0;
  }
}

} // namespace

bool names_source(const std::string& path, const std::string& name) {
  std::string wanted = name.starts_with("./") ? name.substr(2) : name;
  if (wanted.empty() || !path.ends_with(wanted)) return false;
  return path.size() == wanted.size() || wanted.starts_with('/') ||
         path[path.size() - wanted.size() - 1] == '/';
}

std::map<unsigned, LineCode> source_lines(const std::string& program, const std::string& source,
                                          unsigned first, unsigned last) {
  std::map<unsigned, LineCode> lines;
  if (std::string why = replay::why_too_large(program); !why.empty()) {
    print_error("rdb: {}: its debug information is not used: {}\n", program, why);
    return lines;
  }
  int fd = open(program.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return lines;
  if (Dwarf* dwarf = dwarf_begin(fd, DWARF_C_READ)) {
    size_t header;
    for (Dwarf_Off at = 0, next; dwarf_nextcu(dwarf, at, &next, &header, nullptr, nullptr, nullptr) == 0;
         at = next) {
      Dwarf_Die unit;
      if (dwarf_offdie(dwarf, at + header, &unit) != nullptr) read_unit(&unit, {source, first, last, lines});
    }
    dwarf_end(dwarf);
  }
  close(fd);
  return lines;
}

} // namespace rdb::debug
