// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is appended to a log comes out of it, in order, with its positions, from any place.
#include "rdbtool/base/error.h"
#include "tests/trace/sample.h"

#include <gtest/gtest.h>

namespace rdb::trace {
namespace {

struct Recorded {
  std::vector<std::string> prints;
  std::vector<Position> positions;
  std::vector<Chunk> chunks;
};

// Appends `count` random inputs in turns of random length.
Recorded write_sample(TraceWriter& trace, uint64_t seed, int count) {
  SampleRun sample(seed);
  Recorded recorded;
  Input start = sample.start();
  auto process = trace.add_process(start.as<StartInput>());
  Time turn_begin;
  auto add = [&](const Input& input) {
    process->append(input);
    bool same = !recorded.positions.empty() && recorded.positions.back().time == input.at.time;
    recorded.positions.push_back({input.at.time, same ? recorded.positions.back().ordinal + 1 : 0});
    recorded.prints.push_back(fingerprint(input));
  };
  auto end_turn = [&] {
    sample.advance(sample.number(50));
    recorded.chunks.push_back(
        {ThreadId(static_cast<int32_t>(1000 + sample.number(3))), sample.now() - turn_begin});
    process->append(recorded.chunks.back());
    turn_begin = sample.now();
  };
  add(start);
  for (int i = 0; i < count; ++i) {
    add(sample.any());
    if (sample.number(5) == 0) end_turn();
    if (sample.number(200) == 0) process->flush();
  }
  add(sample.exit());
  end_turn();
  process->close(LogClose::finished);
  trace.finish({});
  return recorded;
}

TEST(LogRoundTrip, InputsAndChunksComeBack) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TempDir dir;
    TraceWriter writer(sample_metadata());
    Recorded recorded = write_sample(writer, seed, 2000);
    TraceReader trace("");
    ASSERT_EQ(trace.processes().size(), 1u);
    InputReader inputs = trace.inputs(trace.processes()[0]);
    EXPECT_EQ(inputs.count(), recorded.prints.size());
    EXPECT_EQ(inputs.last_time(), recorded.positions.back().time);
    for (size_t i = 0; i < recorded.prints.size(); ++i) {
      const Input* input = inputs.next();
      ASSERT_NE(input, nullptr) << inputs.end().describe();
      ASSERT_EQ(fingerprint(*input), recorded.prints[i]) << "seed " << seed << " input " << i;
      ASSERT_EQ(input->at, recorded.positions[i]) << "seed " << seed << " input " << i;
      ASSERT_FALSE(input->continued);
    }
    EXPECT_EQ(inputs.next(), nullptr);
    EXPECT_TRUE(inputs.end().complete()) << inputs.end().describe();

    ChunkReader chunks = trace.chunks(trace.processes()[0]);
    Time begin;
    for (const Chunk& expected : recorded.chunks) {
      const TimedChunk* chunk = chunks.next();
      ASSERT_NE(chunk, nullptr) << chunks.end().describe();
      ASSERT_EQ(chunk->chunk, expected);
      ASSERT_EQ(chunk->begin, begin);
      begin = chunk->end();
    }
    EXPECT_EQ(chunks.next(), nullptr);
    EXPECT_TRUE(chunks.end().complete());
  }
}

// The run as steps, with the calls that can be taken ahead taken ahead or not.
std::vector<std::string> steps_of(const TraceReader& trace, bool ahead, size_t& taken) {
  RunReader run = trace.run(trace.processes()[0]);
  std::vector<std::string> result;
  std::vector<LoggedCall> calls;
  Time now;
  for (;;) {
    calls.clear();
    if (ahead) run.take_calls(now, Time(UINT64_MAX), [](const SyscallInput&) { return true; }, calls);
    taken += calls.size();
    const Step* step = run.next();
    // Also after the next step was read.
    for (const LoggedCall& call : calls) {
      size_t writes = call.write.size != 0 ? 1 : 0;
      Input input{{call.time, 0}, step->thread, call.call, {&call.write, writes}};
      result.push_back(fingerprint(input));
    }
    if (step == nullptr) return result;
    now = step->until;
    if (step->input != nullptr) result.push_back(fingerprint(*step->input));
  }
}

TEST(LogRoundTrip, CallsTakenAheadAreTheSameRun) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    TempDir dir;
    TraceWriter writer(sample_metadata());
    SampleRun sample(seed);
    Input start = sample.start();
    auto process = writer.add_process(start.as<StartInput>());
    process->append(start);
    Time turn_begin;
    for (int i = 0; i < 4000; ++i) {
      sample.advance(sample.number(20));
      Input input = sample.number(10) == 0 ? sample.any() : sample.read_call(1 + sample.number(300));
      process->append(input);
      if (sample.number(100) == 0) {
        sample.advance(1 + sample.number(3));
        process->append(Chunk{input.thread, sample.now() - turn_begin});
        turn_begin = sample.now();
      }
    }
    process->append(sample.exit());
    sample.advance(1);
    process->append(Chunk{start.thread, sample.now() - turn_begin});
    process->close(LogClose::finished);
    writer.finish({});
    TraceReader trace("");
    size_t taken = 0, none = 0;
    std::vector<std::string> expected = steps_of(trace, false, none);
    EXPECT_TRUE(expected == steps_of(trace, true, taken)) << "seed " << seed;
    EXPECT_EQ(none, 0u);
    EXPECT_GT(taken, 1000u);
  }
}

TEST(LogRoundTrip, SeekFindsTheFirstInputAtOrAfterATime) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  Recorded recorded = write_sample(writer, 77, 3000);
  TraceReader trace("");
  InputReader inputs = trace.inputs(trace.processes()[0]);
  ChunkReader chunks = trace.chunks(trace.processes()[0]);
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    Time wanted(random() % (recorded.positions.back().time.value + 100));
    auto expected =
        std::lower_bound(recorded.positions.begin(), recorded.positions.end(), Position{wanted, 0});
    inputs.seek(wanted);
    const Input* input = inputs.next();
    if (expected == recorded.positions.end()) {
      EXPECT_EQ(input, nullptr);
      EXPECT_TRUE(inputs.end().complete());
    } else {
      ASSERT_NE(input, nullptr);
      ASSERT_EQ(input->at, *expected);
      ASSERT_EQ(fingerprint(*input), recorded.prints[expected - recorded.positions.begin()]);
    }
    chunks.seek(wanted);
    const TimedChunk* chunk = chunks.next();
    if (chunk != nullptr) {
      EXPECT_GE(chunk->end(), wanted);
      EXPECT_TRUE(chunk->begin <= wanted);
    } else {
      EXPECT_GT(wanted, chunks.last_time());
    }
  }
}

TEST(LogRoundTrip, StepsAreTheInputsInOrderAndTheTurnsBetweenThem) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  Recorded recorded = write_sample(writer, 5, 1000);
  TraceReader trace("");
  RunReader run = trace.run(trace.processes()[0]);
  size_t inputs = 0, turns = 0;
  Time now;
  while (const Step* step = run.next()) {
    ASSERT_GE(step->until, now);
    now = step->until;
    if (step->input != nullptr) {
      ASSERT_EQ(step->input->at, recorded.positions[inputs]);
      ASSERT_EQ(fingerprint(*step->input), recorded.prints[inputs]);
      ++inputs;
    } else {
      ASSERT_EQ(step->thread, recorded.chunks[turns].thread);
      ++turns;
    }
  }
  EXPECT_TRUE(run.end().complete()) << run.end().describe();
  EXPECT_EQ(inputs, recorded.prints.size());
  EXPECT_EQ(turns, recorded.chunks.size());
}

TEST(LogRoundTrip, AnInputInSeveralRecordsHasOnePosition) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  SampleRun sample(3);
  Input start = sample.start();
  auto process = writer.add_process(start.as<StartInput>());
  process->append(start);
  sample.advance(10);
  Input head = sample.read_call(100000);
  head.more = true;
  process->append(head);
  Input rest;
  rest.at.time = head.at.time;
  rest.thread = head.thread;
  rest.payload = MemoryInput{};
  rest.writes = head.writes;
  for (int i = 0; i < 20; ++i) {
    rest.more = i < 19;
    process->append(rest); // crosses several blocks
  }
  Input after = sample.exit();
  process->append(after);
  process->close(LogClose::finished);

  TraceReader trace("");
  InputReader inputs = trace.inputs(trace.processes()[0]);
  ASSERT_NE(inputs.next(), nullptr);
  for (int i = 0; i < 21; ++i) {
    const Input* input = inputs.next();
    ASSERT_NE(input, nullptr) << inputs.end().describe();
    EXPECT_EQ(input->at, (Position{Time(10), 0}));
    EXPECT_EQ(input->continued, i > 0);
    EXPECT_EQ(input->more, i < 20);
    EXPECT_EQ(input->writes[0].size, 100000u);
  }
  const Input* last = inputs.next();
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->at, (Position{Time(10), 1}));
  inputs.seek(Time(10));
  EXPECT_FALSE(inputs.next()->continued);
}

TEST(LogRoundTrip, WhatCannotBeARecordIsRefused) {
  TempDir dir;
  TraceWriter writer(sample_metadata());
  SampleRun sample(4);
  Input start = sample.start();
  auto process = writer.add_process(start.as<StartInput>());
  EXPECT_THROW(process->append(sample.exit()), Bug); // before the start
  EXPECT_THROW(process->append(Chunk{ThreadId(1), 5}), Bug);
  process->append(start);
  sample.advance(100);
  process->append(sample.read_call(10));
  EXPECT_THROW(process->append(Chunk{ThreadId(1), 99}), Bug); // a turn that ends before its input
  Input early = sample.exit();
  early.at.time = Time(99);
  EXPECT_THROW(process->append(early), Bug);
  EXPECT_THROW(process->append(sample.read_call(1 << 20)), Bug);
  EXPECT_THROW(process->append(Input{}), Bug);
}

} // namespace
} // namespace rdb::trace
