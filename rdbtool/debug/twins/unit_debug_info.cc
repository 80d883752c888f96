// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/unit_debug_info.h"

#include "rdbtool/debug/print/dwarf_depth.h"
#include "rdbtool/replay/debug_info_size.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace rdb::debug {
namespace {

std::string text_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
  return text != nullptr ? text : "";
}

std::string linkage_name_of(Dwarf_Die* die) {
  std::string name = text_of(die, DW_AT_linkage_name);
  return name.empty() ? text_of(die, DW_AT_MIPS_linkage_name) : name;
}

unsigned line_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute), &line);
  return line <= INT32_MAX ? static_cast<unsigned>(line) : 0;
}

// The number of a file counts in the unit of the entry that has it, which need not be this one.
std::string file_of(Dwarf_Die* die) {
  Dwarf_Die holder = *die;
  constexpr int kMostSteps = 4; // from an instance to its origin to its declaration
  for (int i = 0; i < kMostSteps; ++i) {
    Dwarf_Attribute attribute;
    if (dwarf_attr(&holder, DW_AT_decl_file, &attribute) != nullptr) {
      const char* file = dwarf_decl_file(&holder);
      return file != nullptr ? file : "";
    }
    if (dwarf_attr(&holder, DW_AT_abstract_origin, &attribute) == nullptr &&
        dwarf_attr(&holder, DW_AT_specification, &attribute) == nullptr)
      break;
    Dwarf_Die origin;
    if (dwarf_formref_die(&attribute, &origin) == nullptr) break;
    holder = origin;
  }
  return "";
}

// The address in an operation that has one, directly or in the table of addresses.
bool address_in(Dwarf_Attribute* location, Dwarf_Op* operation, uint64_t& address) {
  switch (operation->atom) {
  case DW_OP_addr:
  case DW_OP_const4u:
  case DW_OP_const8u:
    address = operation->number;
    return true;
  case DW_OP_addrx:
  case DW_OP_constx:
  case DW_OP_GNU_addr_index:
  case DW_OP_GNU_const_index: {
    Dwarf_Attribute value;
    return dwarf_getlocation_attr(location, operation, &value) == 0 && dwarf_formaddr(&value, &address) == 0;
  }
  default:
    return false;
  }
}

// Only a plain address will do: anything else is a variable that the optimiser has taken apart.
void read_place(Dwarf_Die* die, UnitDebugInfo::Variable& variable) {
  Dwarf_Attribute location;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_attr_integrate(die, DW_AT_location, &location) == nullptr ||
      dwarf_getlocation(&location, &operations, &count) != 0 || count == 0 || count > 2)
    return;
  if (!address_in(&location, &operations[0], variable.address)) return;
  bool is_plain = operations[0].atom == DW_OP_addr || operations[0].atom == DW_OP_addrx ||
                  operations[0].atom == DW_OP_GNU_addr_index;
  if (count == 1 && is_plain)
    variable.where = UnitDebugInfo::Variable::Where::memory;
  else if (count == 2 &&
           (operations[1].atom == DW_OP_form_tls_address || operations[1].atom == DW_OP_GNU_push_tls_address))
    variable.where = UnitDebugInfo::Variable::Where::thread_block;
}

// Walks a unit with a path of its own instead of recursion.
class UnitReader {
public:
  explicit UnitReader(UnitDebugInfo& info) : info_(info) {}

  void read(const Dwarf_Die& unit) {
    struct Level {
      Dwarf_Die die;
      Scope scope; // of its children
    };
    constexpr size_t kMost = 10'000'000; // references to siblings may form a circle
    constexpr size_t kMostKept = 1'000'000;
    std::vector<Level> path = {{unit, {}}};
    Dwarf_Die next;
    for (size_t seen = 0; seen < kMost && info_.variables.size() + info_.functions.size() < kMostKept;
         ++seen) {
      if (dwarf_child(&path.back().die, &next) != 0) {
        while (path.size() > 1 && dwarf_siblingof(&path.back().die, &next) != 0)
          path.pop_back();
        if (path.size() == 1) break;
        path.pop_back();
      }
      Scope scope = visit(next, path.back().scope);
      path.push_back({next, std::move(scope)});
    }
    for (auto& [which, count] : inlined_)
      info_.inlined.push_back({which.second, which.first, count});
  }

private:
  // What an entry is in.
  struct Scope {
    std::string function, linkage_name; // by name
    uint64_t code = 0;                  // the address of the function whose code it is
  };

  Scope visit(Dwarf_Die& die, const Scope& outside) {
    switch (dwarf_tag(&die)) {
    case DW_TAG_subprogram:
      return visit_function(die);
    case DW_TAG_inlined_subroutine: {
      std::string name = linkage_name_of(&die);
      if (name.empty()) name = text_of(&die, DW_AT_name);
      if (outside.code != 0 && !name.empty()) ++inlined_[{outside.code, name}];
      Scope inside{text_of(&die, DW_AT_name), linkage_name_of(&die), outside.code};
      return inside;
    }
    case DW_TAG_variable:
      visit_variable(die, outside);
      return outside;
    default:
      return outside;
    }
  }

  Scope visit_function(Dwarf_Die& die) {
    Scope inside{text_of(&die, DW_AT_name), linkage_name_of(&die), 0};
    Dwarf_Addr entry = 0, base = 0, end = 0;
    // One that is in pieces begins with the first.
    if (dwarf_entrypc(&die, &entry) != 0 && dwarf_ranges(&die, 0, &base, &entry, &end) <= 0) entry = 0;
    if (entry != 0) {
      inside.code = entry;
      info_.functions.push_back({inside.function, inside.linkage_name, file_of(&die), line_of(&die), entry});
    }
    return inside;
  }

  void visit_variable(Dwarf_Die& die, const Scope& outside) {
    // A local variable without a place of its own is of no interest, but one that had one in the source and
    // has none any more is: it looks the same. Those of instances repeat what the origin says.
    Dwarf_Attribute attribute;
    if (dwarf_attr(&die, DW_AT_declaration, &attribute) != nullptr) return;
    UnitDebugInfo::Variable variable;
    read_place(&die, variable);
    if (variable.where == UnitDebugInfo::Variable::Where::nowhere && !outside.function.empty()) return;
    variable.name = text_of(&die, DW_AT_name);
    variable.linkage_name = linkage_name_of(&die);
    variable.function = outside.function;
    variable.function_linkage_name = outside.linkage_name;
    variable.file = file_of(&die);
    variable.line = line_of(&die);
    if (!variable.name.empty()) info_.variables.push_back(std::move(variable));
  }

  UnitDebugInfo& info_;
  std::map<std::pair<uint64_t, std::string>, unsigned> inlined_;
};

std::string full_path(const std::string& source, const std::string& directory) {
  std::filesystem::path path(source);
  if (path.is_relative()) path = std::filesystem::path(directory) / path;
  return path.lexically_normal().string();
}

} // namespace

unsigned common_tail(const std::string& a, const std::string& b) {
  unsigned parts = 0;
  for (size_t back = 0;; ++back) {
    bool a_ends = back == a.size(), b_ends = back == b.size();
    char in_a = a_ends ? '/' : a[a.size() - 1 - back];
    char in_b = b_ends ? '/' : b[b.size() - 1 - back];
    if (in_a != in_b) return parts;
    bool ends_name = in_a == '/' && back != 0 && a[a.size() - back] != '/';
    if (ends_name) ++parts;
    if (a_ends || b_ends) return parts;
  }
}

ProgramDebugInfo::ProgramDebugInfo(const std::string& path) {
  refused_ = replay::why_too_large(path);
  if (!refused_.empty()) return;
  fd_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd_ < 0) return;
  dwarf_ = dwarf_begin(fd_, DWARF_C_READ);
  if (dwarf_ == nullptr) return;
  size_t header = 0;
  for (Dwarf_Off at = 0, next; dwarf_nextcu(dwarf_, at, &next, &header, nullptr, nullptr, nullptr) == 0;
       at = next) {
    Dwarf_Die unit;
    if (dwarf_offdie(dwarf_, at + header, &unit) == nullptr || dwarf_tag(&unit) != DW_TAG_compile_unit)
      continue;
    std::string name = text_of(&unit, DW_AT_name);
    if (!name.empty())
      units_.push_back({at + header, full_path(name, text_of(&unit, DW_AT_comp_dir)), nullptr});
  }
}

ProgramDebugInfo::~ProgramDebugInfo() {
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (fd_ >= 0) close(fd_);
}

// Builds may be moved, and compilers may be told to write other paths: what the paths' ends share decides.
const UnitDebugInfo* ProgramDebugInfo::unit(const std::string& source, const std::string& directory) {
  const std::string wanted = full_path(source, directory);
  Known* best = nullptr;
  unsigned longest = 0;
  bool is_one = false;
  for (Known& known : units_) {
    unsigned common = common_tail(known.path, wanted);
    if (common == 0 || common < longest) continue;
    is_one = common > longest;
    longest = common;
    best = &known;
  }
  if (best == nullptr || !is_one) return nullptr;
  if (!best->info) {
    best->info = std::make_unique<UnitDebugInfo>();
    Dwarf_Die unit;
    if (dwarf_offdie(dwarf_, best->die, &unit) != nullptr && !is_too_deep(&unit))
      UnitReader(*best->info).read(unit);
  }
  return best->info.get();
}

} // namespace rdb::debug
