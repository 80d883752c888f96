// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/outcome_check.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace rdb::debug {
namespace {

constexpr uint64_t kWord = 8;

// Memory as a run leaves it: what it has written, over what was there.
class MemoryAfter {
public:
  MemoryAfter(const NestedResult& run, guest::AddressSpace& space) : run_(run), space_(space) {
    offsets_.reserve(run.written.size());
    uint64_t offset = 0;
    for (const ByteRange& range : run.written) {
      offsets_.push_back(offset);
      offset += range.size();
    }
  }

  const std::vector<ByteRange>& written() const { return run_.written; }
  // The bytes of the range with this index.
  const uint8_t* bytes(size_t range) const { return run_.bytes.data() + offsets_[range]; }

  // How many of these bytes are there, from this address on, up to the first that is another.
  uint64_t equal_bytes(uint64_t address, const uint8_t* bytes, uint64_t size) const {
    uint64_t done = 0;
    while (done < size) {
      uint8_t there[256];
      const uint64_t wanted = std::min<uint64_t>(size - done, sizeof there);
      const uint64_t got = read(address + done, there, wanted);
      const auto* differs = std::mismatch(there, there + got, bytes + done).first;
      done += static_cast<uint64_t>(differs - there);
      if (got == 0 || differs != there + got) break;
    }
    return done;
  }

  uint64_t word(uint64_t address) const {
    uint8_t bytes_there[kWord] = {};
    for (uint64_t done = 0; done < kWord;) {
      const uint64_t got = read(address + done, bytes_there + done, kWord - done);
      if (got == 0) break;
      done += got;
    }
    uint64_t result;
    std::memcpy(&result, bytes_there, sizeof result);
    return result;
  }

private:
  // At least one byte, if there is memory: what the run has written, or what it has not.
  uint64_t read(uint64_t address, uint8_t* to, uint64_t size) const {
    auto after = std::upper_bound(run_.written.begin(), run_.written.end(), address,
                                  [](uint64_t a, const ByteRange& range) { return a < range.begin; });
    if (after != run_.written.begin() && address < std::prev(after)->end) {
      auto range = std::prev(after);
      size = std::min(size, range->end - address);
      std::memcpy(to, bytes(static_cast<size_t>(range - run_.written.begin())) + (address - range->begin),
                  size);
      return size;
    }
    if (after != run_.written.end()) size = std::min(size, after->begin - address);
    return space_.read(GuestAddr(address), to, size);
  }

  const NestedResult& run_;
  guest::AddressSpace& space_;
  std::vector<uint64_t> offsets_;
};

class Comparison {
public:
  Comparison(const CheckedCall& call, const NestedResult& recorded, const NestedResult& twin,
             guest::AddressSpace& space)
      : call_(call), space_(space), recorded_(recorded, space), twin_(twin, space) {}

  Difference memory() {
    if (Difference difference = one_way(twin_, recorded_)) return difference;
    return one_way(recorded_, twin_);
  }

private:
  // Every byte that `a` has written must be what `b` has there.
  Difference one_way(const MemoryAfter& a, const MemoryAfter& b) {
    for (size_t i = 0; i < a.written().size(); ++i) {
      const ByteRange& range = a.written()[i];
      const uint8_t* bytes = a.bytes(i);
      for (uint64_t at = range.begin; at < range.end;) {
        at += b.equal_bytes(at, bytes + (at - range.begin), range.end - at);
        if (at == range.end) break;
        const uint64_t word = at & ~(kWord - 1);
        if (is_ignored(at)) {
          ++at;
          continue;
        }
        const uint64_t ours = recorded_.word(word), twins = twin_.word(word);
        if (!means_the_same(ours, twins)) return {Difference::Kind::memory, word, ours, twins};
        at = std::min(word + kWord, range.end);
      }
    }
    return {};
  }

  bool is_ignored(uint64_t address) const {
    return std::ranges::any_of(call_.ignored, [&](const guest::AddressRange& range) {
      return address >= range.begin && address < range.end;
    });
  }

  bool is_in_frames(uint64_t value) const { return value >= call_.stack_begin && value < call_.stack_end; }

  bool means_the_same(uint64_t a, uint64_t b) const {
    return (is_in_frames(a) && is_in_frames(b)) || are_equal_constants(a, b);
  }

  // Two addresses of one text.
  bool are_equal_constants(uint64_t a, uint64_t b) const {
    constexpr size_t kMost = 4096;
    if (!is_constant(a) || !is_constant(b)) return false;
    for (size_t i = 0; i < kMost; ++i) {
      uint8_t x = 0, y = 0;
      if (!read(a + i, x) || !read(b + i, y) || x != y) return false;
      if (x == 0) return i != 0;
    }
    return false;
  }

  bool is_constant(uint64_t address) const {
    if (address >= guest::kOwnCodeBegin && address < guest::kOwnCodeEnd) return true;
    const guest::Mapping* mapping = space_.find(address);
    return mapping != nullptr && !(mapping->protection & PROT_WRITE);
  }

  bool read(uint64_t address, uint8_t& to) const {
    if (address >= guest::kOwnCodeBegin && address < guest::kOwnCodeEnd) {
      to = *reinterpret_cast<const uint8_t*>(address);
      return true;
    }
    return space_.read(GuestAddr(address), &to, 1) == 1;
  }

  const CheckedCall& call_;
  guest::AddressSpace& space_;
  MemoryAfter recorded_, twin_;
};

// What a register of the result holds, without what means nothing.
uint64_t meaning_of(uint64_t value, const ResultPart& part) {
  if (part.bytes < kWord) value &= (uint64_t{1} << 8 * part.bytes) - 1;
  return value & ~part.padding;
}

Difference compare_results(const CheckedCall& call, const NestedResult& recorded, const NestedResult& twin) {
  for (const ResultPart& part : *call.result) {
    uint64_t ours = 0, twins = 0;
    bool same = true;
    switch (part.where) {
    case ResultRegister::rax:
    case ResultRegister::rdx: {
      engine::Gpr reg = part.where == ResultRegister::rax ? engine::RAX : engine::RDX;
      ours = meaning_of(recorded.registers.gpr[reg], part);
      twins = meaning_of(twin.registers.gpr[reg], part);
      // An address of one of its own variables is of no use to anybody.
      bool in_frames = ours >= call.stack_begin && ours < call.stack_end && twins >= call.stack_begin &&
                       twins < call.stack_end;
      same = ours == twins || in_frames;
      break;
    }
    case ResultRegister::xmm0:
    case ResultRegister::xmm1: {
      size_t i = part.where == ResultRegister::xmm0 ? 0 : 1;
      std::memcpy(&ours, recorded.vector[i], std::min<size_t>(part.bytes, kWord));
      std::memcpy(&twins, twin.vector[i], std::min<size_t>(part.bytes, kWord));
      ours &= ~part.padding;
      twins &= ~part.padding;
      size_t size = std::min<size_t>(part.bytes, sizeof recorded.vector[i]);
      same = ours == twins && (size <= kWord || std::memcmp(recorded.vector[i] + kWord,
                                                            twin.vector[i] + kWord, size - kWord) == 0);
      break;
    }
    case ResultRegister::st0:
    case ResultRegister::st1: {
      size_t i = part.where == ResultRegister::st0 ? 0 : 1;
      std::memcpy(&ours, recorded.x87.value[i], kWord);
      std::memcpy(&twins, twin.x87.value[i], kWord);
      same = recorded.x87.has[i] == twin.x87.has[i] &&
             std::memcmp(recorded.x87.value[i], twin.x87.value[i], sizeof twin.x87.value[i]) == 0;
      break;
    }
    }
    if (!same) return {Difference::Kind::result, 0, ours, twins};
  }
  return {};
}

} // namespace

Difference compare_outcomes(const CheckedCall& call, const NestedResult& recorded, const NestedResult& twin,
                            guest::AddressSpace& space) {
  if (Difference difference = Comparison(call, recorded, twin, space).memory()) return difference;
  if (!call.compares_result || call.result == nullptr) return {};
  return compare_results(call, recorded, twin);
}

} // namespace rdb::debug
