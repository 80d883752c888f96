// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nothing more can be written: the log keeps what it has, the program side is told, the metadata still says
// how it ended. Once with a small file system, where the kernel lets us have one, and once with a limit on
// file sizes.
#include "rdbtool/trace/trace_reader.h"
#include "tests/trace/recording.h"
#include "tests/trace/sample.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rdb::trace {
namespace {

// Records until the disk is full and reads the result. Throws or returns what is wrong, "" if all is well.
std::string record_until_full(uint64_t bytes_per_call) {
  TraceWriter writer(sample_metadata());
  std::string path = writer.path();
  LogConsumer consumer(writer);
  pid_t child = start_producer(consumer, [&](LogProducer& producer) {
    append_start(producer);
    std::vector<uint8_t> bytes(bytes_per_call);
    SampleRun random(1);
    for (uint32_t i = 0; i < 1'000'000; ++i) {
      for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(random.number(256));
      MemoryWrite write = {GuestAddr(0x1000), bytes.data(), bytes.size()};
      if (!producer.append(ThreadId(1000), Time(i * 10), SyscallInput{i}, &write, 1))
        return producer.stop_reason() == LogStop::disk_full ? 42 : 1;
      if (!producer.append(Chunk{ThreadId(1000), i == 0 ? 0u : 10u}))
        return producer.stop_reason() == LogStop::disk_full ? 42 : 1;
    }
    return 2;
  });
  pump_until_idle(consumer);
  if (int status = status_of(child); status != 42) return "the child ended with " + std::to_string(status);
  if (consumer.stopped() != LogStop::disk_full) return "the consumer did not notice";
  if (consumer.failure().find("inputs") == std::string::npos) return "failure: " + consumer.failure();
  consumer.finish();
  writer.finish({EndKind::disk_full, 0, consumer.failure(), 0});

  TraceReader trace(path);
  if (trace.metadata().state != TraceState::finished) return "the metadata is not finished";
  if (trace.metadata().end.summary() != "disk full") return trace.metadata().end.summary();
  RunReader run = trace.run(trace.processes().at(0));
  uint32_t calls = 0;
  while (const Step* step = run.next())
    if (step->input != nullptr && step->input->kind() == InputKind::syscall) {
      if (step->input->as<SyscallInput>().number != calls)
        return "call " + std::to_string(calls) + " is missing";
      ++calls;
    }
  if (calls == 0) return "nothing was kept";
  if (run.end().kind == LogEnd::Kind::damaged) return run.end().describe();
  return "";
}

TEST(DiskFull, ASmallFileSystem) {
  uid_t user = getuid();
  gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) GTEST_SKIP() << "this machine has no user namespaces";
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  TempDir dir;
  if (mount("none", dir.path().c_str(), "tmpfs", 0, "size=1500k") != 0)
    GTEST_SKIP() << "no tmpfs may be mounted here";
  EXPECT_EQ(record_until_full(200), "");
  umount(dir.path().c_str());
}

TEST(DiskFull, AFileSizeLimit) {
  TempDir dir;
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {700'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string wrong = record_until_full(500);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(wrong, "");
}

TEST(DiskFull, WhatThereIsNoRoomForStaysInTheRing) {
  TempDir dir;
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  constexpr uint32_t kCalls = 500;
  pid_t child = start_producer(consumer, [&](LogProducer& producer) {
    append_start(producer);
    std::vector<uint8_t> bytes(500);
    SampleRun random(1);
    for (uint32_t i = 0; i < kCalls; ++i) {
      for (uint8_t& byte : bytes)
        byte = static_cast<uint8_t>(random.number(256));
      MemoryWrite write = {GuestAddr(0x1000), bytes.data(), bytes.size()};
      if (!producer.append(ThreadId(1000), Time(i * 10), SyscallInput{i}, &write, 1)) return 1;
    }
    if (!producer.append(ThreadId(1000), Time(kCalls * 10), ExitInput{false, 7})) return 2;
    return producer.append(Chunk{ThreadId(1000), kCalls * 10}) ? 42 : 3;
  });
  EXPECT_EQ(status_of(child), 42);
  rlimit small = {100'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  pump_until_idle(consumer);
  consumer.finish();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(consumer.stopped(), LogStop::disk_full);
  ASSERT_TRUE(consumer.exit().has_value()); // the recorder knows how the program ended
  EXPECT_EQ(consumer.exit()->status, 7);

  TraceReader trace(writer.path());
  InputReader inputs = trace.inputs(trace.processes().at(0));
  uint32_t calls = 0;
  while (const Input* input = inputs.next())
    calls += input->kind() == InputKind::syscall;
  EXPECT_EQ(calls, kCalls);
  EXPECT_TRUE(inputs.end().complete()) << inputs.end().describe();
}

TEST(DiskFull, AMappedFileThatDoesNotFitStopsTheRecording) {
  TempDir dir;
  std::string large = dir.path() + "/large";
  std::ofstream(large) << std::string(2'000'000, 'x');
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  rlimit small = {1'000'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  pid_t child = start_producer(consumer, [&](LogProducer& producer) {
    append_start(producer);
    ContentId id;
    int fd = open(large.c_str(), O_RDONLY);
    if (producer.store_file(fd, large.c_str(), &id)) return 1;
    return producer.stop_reason() == LogStop::disk_full ? 42 : 2;
  });
  pump_until_idle(consumer);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status_of(child), 42);
  EXPECT_TRUE(writer.files().list().empty());
}

} // namespace
} // namespace rdb::trace
