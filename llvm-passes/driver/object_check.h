// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Is the code of the descriptor compile the program's code? Compares two objects function by function and
// carries places from one to the other.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdb::driver {

struct ObjectPlace {
  uint32_t section; // index in the section header table
  uint64_t offset;
  auto operator<=>(const ObjectPlace&) const = default;
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
  // All symbols of a name, in their order.
  std::vector<const ObjectSymbol*> named(const std::string& name) const;
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
  std::unordered_map<std::string, std::vector<size_t>> by_name_;
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
  // A function that is the same in both objects.
  struct Pair {
    const ObjectSymbol* function;
    const ObjectSymbol* original; // of the program
  };
  std::vector<Pair> same_; // in the order of their places
};

} // namespace rdb::driver
