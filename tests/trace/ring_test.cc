// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The way from a recorded process through its ring into the trace, with every party allowed to die.
#include "rdbtool/base/error.h"
#include "rdbtool/trace/ring/ring.h"
#include "rdbtool/trace/trace_reader.h"
#include "tests/trace/recording.h"
#include "tests/trace/sample.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::trace {
namespace {

// An input put together again from its records.
struct Whole {
  Position at;
  std::string payload;
  std::vector<std::pair<uint64_t, std::string>> memory; // neighbouring writes joined
  bool operator==(const Whole&) const = default;
};

void add_writes(Whole& whole, const Input& input) {
  for (const MemoryWrite& write : input.writes) {
    std::string bytes(reinterpret_cast<const char*>(write.data), write.size);
    if (!whole.memory.empty() &&
        whole.memory.back().first + whole.memory.back().second.size() == write.address.value)
      whole.memory.back().second += bytes;
    else
      whole.memory.emplace_back(write.address.value, bytes);
  }
}

Whole whole_of(const Input& input) {
  Whole whole = {input.at, {}, {}};
  Input bare = input;
  bare.writes = {};
  bare.more = false;
  whole.payload = fingerprint(bare);
  add_writes(whole, input);
  return whole;
}

std::vector<Whole> read_whole_inputs(InputReader& inputs) {
  std::vector<Whole> list;
  while (const Input* input = inputs.next()) {
    if (input->continued)
      add_writes(list.back(), *input);
    else
      list.push_back(whole_of(*input));
  }
  return list;
}

bool append(LogProducer& producer, const Input& input) {
  const MemoryWrite* writes = input.writes.data();
  size_t count = input.writes.size();
  ThreadId thread = input.thread;
  Time time = input.at.time;
  return std::visit(
      [&](const auto& payload) {
        using T = std::decay_t<decltype(payload)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return false;
        else if constexpr (requires { producer.append(thread, time, payload, writes, count); })
          return producer.append(thread, time, payload, writes, count);
        else
          return producer.append(thread, time, payload);
      },
      input.payload);
}

// The same run in every process: the child appends it, the test compares with it.
template <class Add>
void sample_run(uint64_t seed, int count, Add add) {
  SampleRun sample(seed);
  add(sample.start());
  for (int i = 0; i < count; ++i) {
    add(sample.any());
    if (sample.number(50) == 0) {
      sample.advance(5);
      add(sample.read_call(sample.number(3'000'000)));
    }
  }
  add(sample.exit());
}

std::vector<Whole> expected_run(uint64_t seed, int count) {
  std::vector<Whole> list;
  sample_run(seed, count, [&](const Input& input) {
    Whole whole = whole_of(input);
    bool same = !list.empty() && list.back().at.time == whole.at.time;
    whole.at.ordinal = same ? list.back().at.ordinal + 1 : 0;
    list.push_back(whole);
  });
  return list;
}

TEST(Ring, EverythingAProcessAppendsArrives) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  pid_t child = start_producer(consumer, [](LogProducer& producer) {
    bool fine = true;
    sample_run(11, 1000, [&](const Input& input) { fine &= append(producer, input); });
    return fine ? 0 : 1;
  });
  pump_until_idle(consumer);
  EXPECT_EQ(status_of(child), 0);
  ASSERT_TRUE(consumer.exit().has_value());
  EXPECT_EQ(consumer.exit()->status, 7);
  consumer.finish();

  TraceReader trace("");
  ASSERT_EQ(trace.processes().size(), 1u);
  InputReader inputs = trace.inputs(trace.processes()[0]);
  std::vector<Whole> found = read_whole_inputs(inputs);
  EXPECT_TRUE(inputs.end().complete()) << inputs.end().describe();
  std::vector<Whole> expected = expected_run(11, 1000);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_TRUE(found[i] == expected[i]) << "input " << i;
}

TEST(Ring, ProcessesRecordSideBySide) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  std::vector<pid_t> children;
  for (int32_t pid : {2001, 2002, 2003})
    children.push_back(start_producer(consumer, [pid](LogProducer& producer) {
      bool fine = append_start(producer, pid) && append_calls(producer, static_cast<uint32_t>(pid), 200'000);
      fine = fine && producer.append(ThreadId(pid), Time(10'000'000), ExitInput{});
      return fine ? 0 : 1;
    }));
  pump_until_idle(consumer);
  for (pid_t child : children)
    EXPECT_EQ(status_of(child), 0);
  TraceReader trace("");
  ASSERT_EQ(trace.processes().size(), 3u);
  for (const ProcessInfo& process : trace.processes()) {
    InputReader inputs = trace.inputs(process);
    inputs.next();
    for (uint32_t i = 0; i < 200'000; ++i) {
      const Input* input = inputs.next();
      ASSERT_NE(input, nullptr);
      ASSERT_EQ(input->as<SyscallInput>().number, static_cast<uint32_t>(process.pid) + i);
    }
    EXPECT_EQ(inputs.next()->kind(), InputKind::exit);
    EXPECT_EQ(inputs.next(), nullptr);
    EXPECT_TRUE(inputs.end().complete());
  }
}

// Reads a log of append_calls and gives how many calls it holds.
uint32_t count_calls(InputReader& inputs) {
  uint32_t calls = 0;
  const Input* input = inputs.next();
  while (input != nullptr && (input = inputs.next()) != nullptr) {
    EXPECT_EQ(input->as<SyscallInput>().number, calls);
    ++calls;
  }
  return calls;
}

TEST(Ring, AKilledProcessLeavesAllThatItHadAppended) {
  std::mt19937 random(4);
  for (int round = 0; round < 30; ++round) {
    TempDir dir;
    TraceWriter writer(sample_metadata());
    LogConsumer consumer(writer);
    // A page shared with the child counts what it has appended for certain.
    auto* done = static_cast<std::atomic<uint32_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    pid_t child = start_producer(consumer, [&](LogProducer& producer) {
      append_start(producer);
      for (uint32_t i = 0;; ++i) {
        if (!append_calls(producer, i, 1)) return 1;
        done->store(i + 1);
      }
    });
    uint32_t kill_after = random() % 100'000;
    while (done->load() < kill_after)
      consumer.pump();
    kill(child, SIGKILL);
    EXPECT_EQ(status_of(child), 128 + SIGKILL);
    uint32_t appended = done->load();
    pump_until_idle(consumer);
    TraceReader trace("");
    InputReader inputs = trace.inputs(trace.processes()[0]);
    uint32_t found = count_calls(inputs);
    EXPECT_GE(found, appended);
    EXPECT_LE(found, appended + 1);
    EXPECT_EQ(inputs.end().kind, LogEnd::Kind::closed);
    EXPECT_EQ(inputs.end().close, LogClose::producer_died);
    munmap(done, 4096);
  }
}

TEST(Ring, AnInputCutByDeathIsNotHandedOut) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  // A call that writes 64 MiB does not fit into the ring: the child is killed while it waits for room.
  pid_t child = start_producer(consumer, [](LogProducer& producer) {
    append_start(producer);
    append_calls(producer, 0, 5);
    std::vector<uint8_t> bytes(64 << 20, 'x');
    MemoryWrite write = {GuestAddr(0x1000), bytes.data(), bytes.size()};
    producer.append(ThreadId(1000), Time(1000), SyscallInput{}, &write, 1);
    return 0;
  });
  kill(child, SIGSTOP);
  int status;
  waitpid(child, &status, WUNTRACED);
  kill(child, SIGCONT);
  for (int i = 0; i < 3; ++i)
    pump_once(consumer);
  kill(child, SIGKILL);
  status_of(child);
  pump_until_idle(consumer);
  TraceReader trace("");
  InputReader inputs = trace.inputs(trace.processes()[0]);
  uint32_t found = count_calls(inputs);
  EXPECT_LE(found, 5u); // the sixth call is there in part, or not at all
  EXPECT_EQ(inputs.end().close, LogClose::producer_died);
}

TEST(Ring, TheDeathOfTheConsumerEndsTheWait) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  auto consumer = std::make_unique<LogConsumer>(writer);
  pid_t child = start_producer(*consumer, [](LogProducer& producer) {
    append_start(producer);
    while (append_calls(producer, 0, 1)) {
    }
    return producer.stop_reason() == LogStop::consumer_gone ? 42 : 1;
  });
  consumer.reset();
  EXPECT_EQ(status_of(child), 42);
}

TEST(Ring, RequestsOfADeadConsumerFailAtOnce) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  auto consumer = std::make_unique<LogConsumer>(writer);
  pid_t child = start_producer(*consumer, [](LogProducer& producer) {
    ContentId id;
    int fd = open("/proc/self/exe", O_RDONLY);
    bool stored = producer.store_file(fd, "self", &id);
    return !stored && producer.stop_reason() == LogStop::consumer_gone ? 42 : 1;
  });
  consumer.reset();
  EXPECT_EQ(status_of(child), 42);
}

TEST(Ring, StopReachesTheProducer) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  pid_t child = start_producer(consumer, [](LogProducer& producer) {
    append_start(producer);
    uint32_t i = 0;
    while (append_calls(producer, i, 1))
      ++i;
    return producer.stop_reason() == LogStop::requested ? 42 : 1;
  });
  for (int i = 0; i < 5; ++i)
    pump_once(consumer);
  consumer.finish();
  EXPECT_EQ(status_of(child), 42);
  TraceReader trace("");
  InputReader inputs = trace.inputs(trace.processes()[0]);
  EXPECT_GT(count_calls(inputs), 0u);
  EXPECT_EQ(inputs.end().close, LogClose::stopped);
}

TEST(Ring, DrainWaitsUntilEverythingIsOnDisk) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  std::string path = writer.path() + "/1000/inputs";
  pid_t child = start_producer(consumer, [&](LogProducer& producer) {
    append_start(producer);
    append_calls(producer, 0, 100);
    if (!producer.drain()) return 1;
    InputReader inputs(path, writer.metadata().id);
    return inputs.count() == 101 ? 42 : 2;
  });
  pump_until_idle(consumer);
  EXPECT_EQ(status_of(child), 42);
}

TEST(Ring, MappedFilesAreStoredOnRequest) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  pid_t child = start_producer(consumer, [&](LogProducer& producer) {
    append_start(producer);
    int fd = open("/proc/self/exe", O_RDONLY);
    ContentId id, again;
    if (!producer.store_file(fd, "/the/program", &id) || !producer.store_file(fd, "/the/program", &again))
      return 1;
    if (id != again) return 2;
    int directory = open("/", O_RDONLY);
    if (producer.store_file(directory, "/", &again)) return 3;
    MapInput map;
    map.has_file = true;
    map.file = id;
    map.path = "/the/program";
    producer.append(ThreadId(1000), Time(5), map);
    return 42;
  });
  pump_until_idle(consumer);
  EXPECT_EQ(status_of(child), 42);
  writer.finish({});
  TraceReader trace("");
  InputReader inputs = trace.inputs(trace.processes()[0]);
  inputs.next();
  const MapInput& map = inputs.next()->as<MapInput>();
  EXPECT_EQ(map.path, "/the/program");
  EXPECT_EQ(map.file.size, std::filesystem::file_size("/proc/self/exe"));
  int fd = trace.files().open(map.file);
  EXPECT_GE(fd, 0);
  close(fd);
  ASSERT_EQ(trace.metadata().files.size(), 1u);
  EXPECT_EQ(trace.metadata().files[0].path, "/the/program");
}

TEST(Ring, AForkedChildHasALogOfItsOwn) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer);
  pid_t child = start_producer(consumer, [&](LogProducer& producer) {
    append_start(producer, 1000);
    append_calls(producer, 0, 10);
    ProducerEnds ends;
    if (!producer.prepare_child(ProcessOrigin::forked, Time(100), &ends)) return 1;
    pid_t grandchild = fork();
    if (grandchild == 0) {
      producer.detach();
      if (!producer.attach(ends)) _exit(2);
      StartInput start;
      start.origin = ProcessOrigin::forked;
      start.pid = 1001;
      start.parent_pid = 1000;
      start.parent_time = Time(100);
      producer.append(ThreadId(1001), Time(100), start);
      producer.append(Chunk{ThreadId(1001), 50});
      producer.append(ThreadId(1001), Time(150), ExitInput{});
      _exit(3);
    }
    LogProducer::close_ends(ends);
    int status = status_of(grandchild);
    producer.append(ThreadId(1000), Time(200), ExitInput{});
    return status;
  });
  pump_until_idle(consumer);
  EXPECT_EQ(status_of(child), 3);
  TraceReader trace("");
  ASSERT_EQ(trace.processes().size(), 2u);
  const ProcessInfo& forked = trace.processes()[1];
  EXPECT_EQ(forked.name, "1001");
  EXPECT_EQ(forked.parent, "1000");
  EXPECT_EQ(forked.origin, ProcessOrigin::forked);
  EXPECT_EQ(forked.parent_time, Time(100));
  ChunkReader chunks = trace.chunks(forked);
  const TimedChunk* chunk = chunks.next();
  ASSERT_NE(chunk, nullptr) << chunks.end().describe();
  EXPECT_EQ(chunk->begin, Time(100)); // its time goes on from its parent's
  EXPECT_EQ(chunk->end(), Time(150));
}

TEST(Ring, HundredsOfProcessesFitAndTooManyAreRefused) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  LogConsumer consumer(writer, 64 << 20);
  std::vector<ProducerEnds> all;
  for (int i = 0; i < 300; ++i)
    all.push_back(consumer.open_process());
  EXPECT_THROW(for (int i = 0; i < 2000; ++i) all.push_back(consumer.open_process()), Limit);
  for (ProducerEnds ends : all)
    LogProducer::close_ends(ends);
  while (!consumer.idle())
    consumer.pump();
  LogProducer::close_ends(consumer.open_process()); // room again
}

// The guest can write anywhere, the ring included.
TEST(Ring, WildWritesEndThatLogOnly) {
  std::mt19937 random(9);
  for (int round = 0; round < 40; ++round) {
    TempDir dir;
    TraceWriter writer(sample_metadata());
    LogConsumer consumer(writer);
    uint32_t seed = random();
    ProducerEnds ends = consumer.open_process();
    // The test itself plays the guest, so that damage and pumping interleave the same way every time.
    int ring = dup(ends.ring_fd);
    LogProducer wild;
    ASSERT_TRUE(wild.attach(ends));
    append_start(wild);
    append_calls(wild, 0, 2000);
    auto* bytes = static_cast<uint8_t*>(
        mmap(nullptr, kRingHeaderSize + 65536, PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0));
    ASSERT_NE(bytes, MAP_FAILED);
    std::mt19937 wildness(seed);
    for (int i = 0; i < 20; ++i)
      bytes[kRingHeaderSize + wildness() % 65536] = static_cast<uint8_t>(wildness());
    if (round % 4 == 0) bytes[64 + wildness() % 8] ^= 0xff; // the head
    pid_t good = start_producer(consumer, [](LogProducer& producer) {
      bool fine = append_start(producer, 3000) && append_calls(producer, 0, 1000);
      return fine && producer.append(ThreadId(3000), Time(100'000), ExitInput{}) ? 0 : 1;
    });
    EXPECT_EQ(status_of(good), 0);
    wild.detach();
    close(ring);
    munmap(bytes, kRingHeaderSize + 65536);
    pump_until_idle(consumer);
    TraceReader trace("");
    for (const ProcessInfo& process : trace.processes()) {
      InputReader inputs = trace.inputs(process);
      while (inputs.next() != nullptr) {
      }
      if (process.pid == 3000) {
        EXPECT_TRUE(inputs.end().complete());
      }
    }
  }
}

} // namespace
} // namespace rdb::trace
