// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is the code of the descriptor compile the program's code? Compares two objects function by function and
// carries places from one to the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rdb::driver {

struct ObjectPlace {
  uint32_t section; // index in the section header table
  uint64_t offset;
};

struct ObjectSymbol {
  std::string name;
  bool is_function = false;
  bool is_local = false;
  bool is_tls = false;
  ObjectPlace place{};
  uint64_t size = 0;
};

class ObjectFile {
public:
  explicit ObjectFile(const std::string& path);

  const std::vector<ObjectSymbol>& symbols() const { return symbols_; }
  const ObjectSymbol* find(const std::string& name, bool function) const;
  // Everything that decides what the function does: its bytes and what is filled in where.
  std::string function_image(const ObjectSymbol& function) const;

private:
  struct Relocation {
    uint64_t offset;
    std::string text;
  };
  std::string bytes_;
  std::vector<std::string> contents_; // by section
  std::vector<std::vector<Relocation>> relocations_;
  std::vector<ObjectSymbol> symbols_;
};

class ObjectCheck {
public:
  ObjectCheck(const ObjectFile& program, const ObjectFile& descriptor);

  // Has this function the same code in both?
  bool same_code(const std::string& function) const { return !different_.contains(function); }
  // The program's place of a label of the descriptor compile.
  std::optional<ObjectPlace> program_place(const std::string& label) const;

private:
  const ObjectFile& descriptor_;
  std::set<std::string> different_;
  std::map<const ObjectSymbol*, const ObjectSymbol*> program_function_;
};

} // namespace rdb::driver
