// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How functions take their arguments, from the program's debug information: enough to show a call as one
// would write it.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

struct Value {
  enum class Kind : uint8_t { integer, floating, pointer, string, nothing, other } kind = Kind::other;
  unsigned size = 0;
  bool is_signed = false;
};

struct Signature {
  struct Parameter {
    std::string name;
    Value value;
  };
  std::vector<Parameter> parameters;
  Value result;
};

class Signatures {
public:
  explicit Signatures(replay::Replayer& replayer) : replayer_(replayer) {}

  // Null if there is no debug information about the function that begins there.
  const Signature* of(GuestAddr function);

  // A call at its first instruction: "a=1, s=\"text\"".
  std::string arguments(const Signature& signature);
  std::string result(const Signature& signature);

private:
  void read(const replay::LoadedFile& file);
  std::string show(const Value& value, uint64_t bits);

  replay::Replayer& replayer_;
  std::unordered_map<uint64_t, Signature> known_;
  std::unordered_map<uint64_t, std::string> read_; // files by where they are mapped
};

} // namespace rdb::debug
