// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/trace/sample.h"

#include "rdbtool/trace/format/record_codec.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace rdb::trace {

TempDir::TempDir(Where where) {
  std::filesystem::path parent = std::filesystem::temp_directory_path();
  if (where == Where::memory && access("/dev/shm", W_OK) == 0) parent = "/dev/shm";
  std::string pattern = (parent / "rdb-trace-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
  setenv("RDB_TRACE_DIR", path_.c_str(), 1);
}

TempDir::~TempDir() {
  unsetenv("RDB_TRACE_DIR");
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::span<const uint8_t> SampleRun::bytes(size_t size) {
  std::vector<uint8_t>& data = storage_.emplace_back(size);
  // Half of all data compresses well.
  bool dull = number(2) == 0;
  for (uint8_t& byte : data)
    byte = static_cast<uint8_t>(dull ? 'a' : random_());
  return data;
}

std::string_view SampleRun::text() {
  auto data = bytes(number(60));
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::span<const MemoryWrite> SampleRun::writes(size_t most, size_t largest) {
  std::vector<MemoryWrite>& list = write_lists_.emplace_back();
  for (size_t n = number(most + 1); n != 0; --n) {
    auto data = bytes(number(largest + 1));
    list.push_back({GuestAddr(random_() >> number(64)), data.data(), data.size()});
  }
  return list;
}

Input SampleRun::at_now(Payload payload) {
  Input input;
  input.at.time = now_;
  input.thread = ThreadId(static_cast<int32_t>(1000 + number(3)));
  input.payload = payload;
  return input;
}

Input SampleRun::start() {
  StartInput start;
  start.pid = 1000;
  start.parent_pid = 999;
  for (uint64_t& value : start.registers.gpr)
    value = random_();
  start.registers.rip = 0x401000;
  start.auxv = GuestAddr(0x7ffd00001000);
  start.auxv_size = 320;
  start.brk = GuestAddr(0x500000);
  start.blocked = 0x10001;
  start.ignored = 1ull << 63;
  start.program = "/usr/bin/sample";
  Input input = at_now(start);
  input.writes = writes(3, 2000);
  return input;
}

Input SampleRun::read_call(size_t size) {
  Input input = at_now(SyscallInput{0, OutputStream::none, false, static_cast<int64_t>(size), random_()});
  auto data = bytes(size);
  write_lists_.push_back({{GuestAddr(0x7ffd00002000), data.data(), data.size()}});
  input.writes = write_lists_.back();
  return input;
}

Input SampleRun::any() {
  now_ += number(3) * number(2000);
  switch (number(13)) {
  case 0: {
    SignalInput signal;
    signal.number = 11;
    signal.synchronous = number(2) == 1;
    signal.action = SignalOutcome(1 + number(3));
    signal.frame = GuestAddr(random_());
    signal.mask = random_();
    signal.hash = random_();
    for (uint8_t& byte : signal.siginfo)
      byte = static_cast<uint8_t>(random_());
    return at_now(signal);
  }
  case 1: {
    InstructionInput result;
    result.op = InstructionOp(1 + number(10));
    result.count = static_cast<uint8_t>(number(5));
    for (int i = 0; i < result.count; ++i)
      result.values[i] = random_() >> number(64);
    return at_now(result);
  }
  case 2: {
    Input input = at_now(MemoryInput{});
    input.writes = writes(4, 5000);
    return input;
  }
  case 3: {
    MapInput map;
    map.op = MapOp(1 + number(8));
    map.protection = static_cast<uint8_t>(number(8));
    map.flags = static_cast<uint32_t>(random_());
    map.address = GuestAddr(random_());
    map.length = random_() >> 20;
    if (map.op == MapOp::remap) {
      map.old_address = GuestAddr(random_());
      map.old_length = 4096;
    }
    if (map.op == MapOp::share || map.op == MapOp::view) {
      map.object = 1 + number(1000);
      map.offset = number(100) * 4096;
      map.path = text();
    }
    map.has_file = map.op == MapOp::map && number(2) == 1;
    if (map.has_file) {
      map.offset = number(100) * 4096;
      map.file = {random_(), random_() >> 30};
      map.path = text();
    }
    return at_now(map);
  }
  case 4:
    return at_now(ChecksumInput{random_(), random_(), number(100000)});
  case 5:
    return at_now(OutputInput{OutputStream(1 + number(3)), bytes(number(300))});
  case 6:
    return at_now(ThreadStartInput{ThreadId(-5), GuestAddr(random_()), GuestAddr(random_()), random_()});
  case 7:
    return at_now(ThreadEndInput{static_cast<int32_t>(random_())});
  case 8: {
    PartialInput partial;
    for (uint64_t& value : partial.gpr)
      value = random_() >> number(64);
    partial.rflags = random_();
    partial.vectors = bytes(number(2) * 2700);
    Input input = at_now(partial);
    input.writes = writes(3, 800);
    return input;
  }
  default: {
    SyscallInput call = {static_cast<uint32_t>(number(450)), OutputStream(number(4)), false,
                         static_cast<int64_t>(random_()) >> number(64), random_()};
    call.checks_data = call.hash % 2 == 1;
    Input input = at_now(call);
    input.writes = writes(3, 800);
    return input;
  }
  }
}

Input SampleRun::exit() {
  return at_now(ExitInput{false, 7});
}

std::string fingerprint(const Input& input) {
  RecordSink sink;
  CodecState state;
  encode(input, state, sink);
  std::string print(reinterpret_cast<const char*>(sink.bytes.data()), sink.bytes.size());
  if (sink.hashes.size() != 0)
    print.append(reinterpret_cast<const char*>(sink.hashes.data()), sink.hashes.size());
  return print;
}

Metadata sample_metadata() {
  Metadata metadata;
  metadata.rdb_version = "0.1.0";
  metadata.program = "/usr/bin/sample";
  metadata.command = {"sample", "-x", "a b"};
  metadata.environment = {"HOME=/root", "LANG=C"};
  metadata.directory = "/tmp";
  metadata.layout_seed = 0xfedcba9876543210;
  return metadata;
}

} // namespace rdb::trace
