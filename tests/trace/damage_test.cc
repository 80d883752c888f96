// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A small trace with one byte changed, for every byte, and cut off, at every length: what is read is always a
// prefix of what was written, the end is named, and nothing worse happens.
#include "rdbtool/base/error.h"
#include "rdbtool/trace/format/block_format.h"
#include "tests/trace/sample.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace rdb::trace {
namespace {

namespace fs = std::filesystem;

std::string read_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// What a run consists of, step by step.
struct Seen {
  std::vector<std::string> steps;
  LogEnd end;
};

Seen read_run(const std::string& path) {
  TraceReader trace(path);
  Seen seen;
  RunReader run = trace.run(trace.processes().at(0));
  while (const Step* step = run.next()) {
    std::string line = std::to_string(step->until.value);
    // The turn that was not over is described by its inputs alone.
    if (step->input != nullptr)
      line += fingerprint(*step->input);
    else
      line += " turn of " + std::to_string(step->thread.value);
    seen.steps.push_back(line);
  }
  seen.end = run.end();
  return seen;
}

class Damage : public testing::Test {
protected:
  // Several blocks in both logs, with an input that crosses blocks.
  void SetUp() override {
    TraceWriter writer(sample_metadata());
    path_ = writer.path();
    SampleRun sample(21);
    Input start = sample.start();
    auto process = writer.add_process(start.as<StartInput>());
    process->append(start);
    Time begin;
    for (int block = 0; block < 4; ++block) {
      for (int i = 0; i < 4; ++i) {
        Input input = sample.any();
        while (input.writes.size() > 1 || (input.writes.size() == 1 && input.writes[0].size > 100))
          input = sample.any();
        process->append(input);
      }
      sample.advance(10);
      process->append(Chunk{ThreadId(1000 + block), sample.now() - begin});
      begin = sample.now();
      Input head = sample.read_call(30);
      head.more = true;
      process->append(head);
      process->flush();
      Input rest = head;
      rest.payload = MemoryInput{};
      rest.more = false;
      process->append(rest);
    }
    process->append(sample.exit());
    process->append(Chunk{ThreadId(1000), 0});
    process->close(LogClose::finished);
    writer.finish({});
    whole_ = read_run(path_);
    ASSERT_TRUE(whole_.end.complete());
    ASSERT_EQ(whole_.steps.size(), 1u + 16 + 8 + 1 + 5);
  }

  // What can be read must be a beginning of the whole; less than all of it must be explained.
  void expect_prefix(const std::string& what) {
    Seen seen;
    try {
      seen = read_run(path_);
    } catch (const UserError& error) {
      // Files whose damage is seen at once.
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << what << ": " << error.what();
      return;
    }
    ASSERT_LE(seen.steps.size(), whole_.steps.size()) << what;
    // Without the turns between them, inputs of the turn that was cut come in the same order.
    size_t at = 0;
    for (const std::string& step : seen.steps) {
      while (at < whole_.steps.size() && whole_.steps[at] != step &&
             whole_.steps[at].find(" turn of ") != std::string::npos)
        ++at;
      ASSERT_LT(at, whole_.steps.size()) << what;
      ASSERT_EQ(whole_.steps[at], step) << what;
      ++at;
    }
    if (seen.steps.size() == whole_.steps.size()) return;
    if (seen.end.complete()) {
      // All inputs are there: only the list of turns may have lost its end.
      ASSERT_EQ(seen.steps.back(),
                *std::find_if(whole_.steps.rbegin(), whole_.steps.rend(),
                              [](const std::string& s) { return s.find(" turn of ") == std::string::npos; }))
          << what;
      return;
    }
    EXPECT_FALSE(seen.end.file.empty()) << what;
    EXPECT_FALSE(seen.end.reason.empty() && seen.end.kind != LogEnd::Kind::closed) << what;
  }

  void try_all(const std::string& file) {
    fs::path target = fs::path(path_) / file;
    std::string bytes = read_bytes(target);
    ASSERT_GT(bytes.size(), 100u);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
      write_bytes(target, changed);
      expect_prefix(file + ": byte " + std::to_string(i));
      if (HasFatalFailure()) return;
      write_bytes(target, bytes.substr(0, i));
      expect_prefix(file + ": cut at " + std::to_string(i));
      if (HasFatalFailure()) return;
    }
    write_bytes(target, bytes);
    expect_prefix(file + ": whole");
  }

  TempDir dir_{TempDir::Where::memory}; // thousands of small files are written
  std::string path_;
  Seen whole_;
};

TEST_F(Damage, OfTheInputLog) {
  try_all("1000/inputs");
}
TEST_F(Damage, OfTheChunkLog) {
  try_all("1000/chunks");
}
TEST_F(Damage, OfTheMetadata) {
  try_all("metadata.json");
}
TEST_F(Damage, OfTheProcessDescription) {
  try_all("1000/process.json");
}

TEST_F(Damage, EveryBlockOfTheInputLogIsFoundByItsOffset) {
  fs::path target = fs::path(path_) / "1000/inputs";
  std::string bytes = read_bytes(target);
  size_t at = sizeof(LogFileHeader);
  size_t last_steps = 0;
  int blocks = 0;
  while (at < bytes.size()) {
    BlockHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if ((header.flags & kBlockLast) != 0) break;
    std::string changed = bytes;
    changed[at + sizeof header + header.stored_size / 2] ^= 4;
    write_bytes(target, changed);
    Seen seen = read_run(path_);
    EXPECT_EQ(seen.end.kind, LogEnd::Kind::damaged);
    EXPECT_EQ(seen.end.offset, at);
    EXPECT_EQ(seen.end.file, target.string());
    EXPECT_NE(seen.end.describe().find("checksum"), std::string::npos) << seen.end.describe();
    EXPECT_TRUE(seen.steps.empty() || seen.steps.size() > last_steps);
    last_steps = seen.steps.size();
    at += sizeof header + header.stored_size;
    ++blocks;
  }
  EXPECT_EQ(blocks, 5);
}

TEST_F(Damage, ALogOfAnotherTraceIsNotAccepted) {
  TraceWriter other(sample_metadata());
  SampleRun sample(21);
  Input start = sample.start();
  auto process = other.add_process(start.as<StartInput>());
  process->append(start);
  process->close(LogClose::finished);
  fs::copy_file(other.path() + "/1000/inputs", path_ + "/1000/inputs", fs::copy_options::overwrite_existing);
  Seen seen = read_run(path_);
  EXPECT_TRUE(seen.steps.empty());
  EXPECT_NE(seen.end.describe().find("another trace"), std::string::npos) << seen.end.describe();
}

TEST_F(Damage, AMissingLogIsNamed) {
  fs::remove(path_ + "/1000/chunks");
  try {
    read_run(path_);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("1000/chunks"), std::string::npos);
  }
}

} // namespace
} // namespace rdb::trace
