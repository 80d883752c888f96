// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Made-up recordings for the tests of the trace library: random inputs of every kind from a seed, and a
// temporary directory to put traces in.
#pragma once

#include "rdbtool/trace/trace_reader.h"
#include "rdbtool/trace/trace_writer.h"

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace rdb::trace {

// A new directory, removed with everything in it at the end. RDB_TRACE_DIR points to it meanwhile.
class TempDir {
public:
  enum class Where { disk, memory }; // in memory if the machine has such a file system
  explicit TempDir(Where where = Where::disk);
  ~TempDir();
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

// The same inputs for the same seed. The bytes that inputs point to live as long as the object.
class SampleRun {
public:
  explicit SampleRun(uint64_t seed) : random_(seed) {}

  // The start record, at time 0.
  Input start();
  // Any other kind but the last, at or after the time of the one before.
  Input any();
  Input exit();
  // A system call that read `size` bytes.
  Input read_call(size_t size);

  uint64_t number(uint64_t bound) { return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random_); }
  Time now() const { return now_; }
  void advance(uint64_t instructions) { now_ += instructions; }

private:
  std::span<const uint8_t> bytes(size_t size);
  std::span<const MemoryWrite> writes(size_t most, size_t largest);
  std::string_view text();
  Input at_now(Payload payload);

  std::mt19937_64 random_;
  Time now_;
  std::deque<std::vector<uint8_t>> storage_;
  std::deque<std::vector<MemoryWrite>> write_lists_;
};

// Everything an input says except its ordinal, as bytes: equal strings, equal inputs.
std::string fingerprint(const Input& input);

Metadata sample_metadata();

} // namespace rdb::trace
