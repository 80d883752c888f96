// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a value is computed to, tried with a few values of what it is computed from. Two ways to compute that
// give the same in all samples are taken to be the same.
#pragma once

#include "llvm/ADT/APInt.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace llvm {
class DataLayout;
class DbgVariableRecord;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace rdb::codegen {

inline constexpr size_t kSamples = 48;
inline constexpr size_t kFirstFar = 20; // the first ones are small, or near numbers of the function

// None if it cannot be told.
struct Sample : std::optional<llvm::APInt> {
  using std::optional<llvm::APInt>::optional;
  using std::optional<llvm::APInt>::operator=;
  // It comes from a division that is said to leave no rest, and leaves one: passes need not keep such a
  // value.
  bool is_impossible = false;
};
using Sampled = std::array<Sample, kSamples>;

// Do they agree, in their lowest bits?
bool agree(const Sampled& a, const Sampled& b, std::optional<unsigned> bits = std::nullopt);

class Samples {
public:
  // Different seeds give different random values. Some are near the numbers that the function compares with:
  // what a pass gets away with may show there only.
  Samples(const llvm::Function& function, uint64_t seed);
  // Those of another one, which stays as it is, and further ones.
  static Samples on_top_of(const Samples& base);

  // What cannot be computed (a parameter, a load, a phi ...) gets random values; nothing if it has no bits.
  const Sampled* find(const llvm::Value& value);
  // Only what is known already.
  const Sampled* known(const llvm::Value& value) const;
  // Says what a value is, unless it has another number of bits.
  void set(const llvm::Value& value, const Sampled& sampled);

  // What a debug record says; none if that is not understood.
  std::optional<Sampled> find(const llvm::DbgVariableRecord& record);

  // Is it computed from its operands alone?
  static bool is_computed(const llvm::Value& value);

  // The values known, in the order in which they came to be: where random ones are made for others in turn,
  // they must not depend on addresses.
  const std::vector<const llvm::Value*>& all() const { return order_; }

private:
  std::optional<unsigned> width(const llvm::Value& value) const;
  Sampled random(unsigned width);
  llvm::APInt random(unsigned width, size_t sample);
  Sampled take(const llvm::Value& value, unsigned bits);
  // Of a value that others are made of, once it is known; in code that is never run a value may be made of
  // itself.
  const Sampled* part(const llvm::Value& value);
  Sampled address(const llvm::Value& constant, unsigned width);
  Sampled compute(const llvm::Instruction& instruction, unsigned width);

  Samples() = default;

  const Samples* base_ = nullptr;
  const llvm::DataLayout* layout_ = nullptr;
  std::shared_ptr<const std::vector<int64_t>> compared_; // with what the function compares
  const Sampled* add(const llvm::Value& value, const Sampled& sampled);

  std::map<const llvm::Value*, Sampled> values_;
  std::vector<const llvm::Value*> order_;
  uint64_t state_ = 0;
};

} // namespace rdb::codegen
