// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes traces for the tests of commands that need one, through rings and all, without recording anything:
//   make_trace exit|signal|cut|running FILE
// FILE is stored as the mapped program. Prints the trace's path. `cut` dies before the end is written;
// `running` keeps recording until its standard input closes.
#include "rdbtool/trace/ring/log_consumer.h"
#include "tests/trace/recording.h"
#include "tests/trace/sample.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace rdb::trace {
namespace {

constexpr ThreadId kMain(4000);
constexpr ThreadId kHelper(4001);

// A run with every kind of input, two threads, a forked child, and enough calls for several blocks.
int run_program(LogProducer& log, const char* file, bool by_signal) {
  StartInput start;
  start.pid = 4000;
  start.parent_pid = 3999;
  start.registers.rip = 0x401000;
  start.registers.gpr[4] = 0x7ffd00000000;
  start.program = file;
  const uint8_t stack[] = "PATH=/bin";
  MemoryWrite stack_image = {GuestAddr(0x7ffd00000000), stack, sizeof stack};
  log.append(kMain, Time(0), start, &stack_image, 1);

  MapInput map;
  map.address = GuestAddr(0x400000);
  map.length = 0x1000;
  map.protection = 5;
  map.flags = 2;
  map.has_file = true;
  map.path = file;
  int fd = open(file, O_RDONLY);
  if (!log.store_file(fd, file, &map.file)) return 1;
  log.append(kMain, Time(0), map);

  log.append(kMain, Time(100), InstructionInput{InstructionOp::rdtsc, 1, {123456789}});
  log.append(kMain, Time(200),
             ThreadStartInput{kHelper, GuestAddr(0x7f0000000000), GuestAddr(0x7f0000001000), 0x3d0f00});
  log.append(Chunk{kMain, 250});
  const uint8_t data[] = "hello\n";
  MemoryWrite write = {GuestAddr(0x500000), data, 6};
  log.append(kHelper, Time(300), SyscallInput{0, OutputStream::none, false, 6, 0x1111}, &write, 1);
  log.append(kHelper, Time(310), SyscallInput{1, OutputStream::standard_output, false, 6, 0x2222});
  log.append(kHelper, Time(320), SyscallInput{2, OutputStream::none, false, -2, 0x3333});
  log.append(kHelper, Time(330), OutputInput{OutputStream::terminal, {data, 6}});
  log.append(kHelper, Time(340), ThreadEndInput{0});
  log.append(Chunk{kHelper, 90});

  ProducerEnds ends;
  if (!log.prepare_child(ProcessOrigin::forked, Time(400), &ends)) return 1;
  pid_t child = fork();
  if (child == 0) {
    log.detach();
    if (!log.attach(ends)) _exit(1);
    StartInput forked = start;
    forked.origin = ProcessOrigin::forked;
    forked.pid = 4002;
    forked.parent_pid = 4000;
    forked.parent_time = Time(400);
    log.append(ThreadId(4002), Time(400), forked);
    log.append(Chunk{ThreadId(4002), 10});
    log.append(ThreadId(4002), Time(410), ExitInput{false, 3});
    _exit(0);
  }
  LogProducer::close_ends(ends);
  status_of(child);

  uint64_t time = 1000;
  for (int i = 0; i < 30'000; ++i, time += 10)
    log.append(kMain, Time(time),
               SyscallInput{39, OutputStream::none, false, 4000, static_cast<uint64_t>(i)});
  log.append(kMain, Time(time), ChecksumInput{0xaaaa, 0xbbbb, 17});
  if (by_signal) {
    SignalInput signal;
    signal.number = 11;
    signal.action = SignalOutcome::fatal;
    signal.synchronous = true;
    log.append(kMain, Time(time), signal);
  }
  log.append(Chunk{kMain, time - 340});
  log.append(kMain, Time(time), by_signal ? ExitInput{true, 11} : ExitInput{false, 3});
  return 0;
}

int make(const char* kind, const char* file) {
  Metadata metadata;
  metadata.rdb_version = "0.1.0";
  metadata.program = file;
  metadata.command = {"sample", "one two", "\xff\xfe"};
  metadata.environment = {"PATH=/bin"};
  metadata.directory = "/";
  metadata.layout_seed = 42;
  TraceWriter writer(metadata);
  LogConsumer consumer(writer);
  bool by_signal = std::strcmp(kind, "signal") == 0;
  pid_t child = start_producer(consumer, [&](LogProducer& log) { return run_program(log, file, by_signal); });
  pump_until_idle(consumer);
  if (status_of(child) != 0) return 1;
  std::printf("%s\n", writer.path().c_str());
  std::fflush(stdout);
  if (std::strcmp(kind, "cut") == 0) _exit(0);
  if (std::strcmp(kind, "running") == 0) {
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
  }
  TraceEnd end;
  end.kind = by_signal ? EndKind::signalled : EndKind::exited;
  end.status = by_signal ? 11 : 3;
  consumer.finish();
  writer.finish(end);
  return 0;
}

} // namespace
} // namespace rdb::trace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_trace exit|signal|cut|running FILE\n");
    return 2;
  }
  return rdb::trace::make(argv[1], argv[2]);
}
