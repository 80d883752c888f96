// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/program_thread_locals.h"

#include <algorithm>

namespace rdb::debug {
namespace {

bool is_thread_local(const descriptors::Argument& argument) {
  return std::ranges::any_of(
      argument.parts, [](const descriptors::Part& part) { return part.cls == descriptors::Class::tls; });
}

// Reads words, until one of them cannot be read.
class WordReader {
public:
  explicit WordReader(engine::GuestMemory& memory) : memory_(memory) {}
  uint64_t at(uint64_t address) {
    uint64_t value = 0;
    good_ = good_ && memory_.read(GuestAddr(address), &value, sizeof value) == sizeof value;
    return value;
  }
  bool good() const { return good_; }

private:
  engine::GuestMemory& memory_;
  bool good_ = true;
};

} // namespace

uint64_t find_thread_block(engine::GuestMemory& memory, const ThreadBlockRule& rule, uint64_t bias,
                           uint64_t thread_pointer) {
  // In glibc: a word beside the thread pointer leads to a table with an entry for each file, by number. The
  // entry before the first one has their count.
  constexpr uint64_t kTable = 8, kEntrySize = 16, kNotMadeYet = ~uint64_t{0};
  WordReader word(memory);
  if (rule.below != 0) return thread_pointer - rule.below;
  if (rule.offset_at) {
    uint64_t offset = word.at(bias + *rule.offset_at);
    return word.good() && offset != 0 ? thread_pointer + offset - rule.offset_of : 0;
  }
  if (!rule.number_at) return 0;
  uint64_t number = word.at(bias + *rule.number_at);
  uint64_t table = word.at(thread_pointer + kTable);
  if (!word.good() || number == 0 || number > word.at(table - kEntrySize)) return 0;
  uint64_t block = word.at(table + number * kEntrySize);
  return word.good() && block != kNotMadeYet ? block : 0;
}

void ProgramThreadLocals::attach(const descriptors::Descriptors& descriptors, const ThreadBlockRule& rule) {
  rule_ = rule;
  for (size_t i = 0; i < descriptors.symbols.size(); ++i) {
    const descriptors::Symbol& symbol = descriptors.symbols[i];
    if (symbol.owner != descriptors::Owner::library && symbol.thread_local_) symbols_.push_back(i);
  }
  any_ = !symbols_.empty() || std::ranges::any_of(descriptors.arguments, is_thread_local);
}

bool ProgramThreadLocals::use_thread(engine::GuestMemory& memory, uint64_t bias, uint64_t thread_pointer) {
  if (thread_ == thread_pointer) return false;
  block_ = find_thread_block(memory, rule_, bias, thread_pointer);
  thread_ = block_ != 0 ? thread_pointer : 0;
  return true;
}

} // namespace rdb::debug
