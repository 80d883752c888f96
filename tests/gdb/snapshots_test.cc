// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which snapshots are kept: near the user they lie close together, and nowhere is there a hole. And how much
// memory they take, with processes that have nothing but memory in place of replays.
#include "rdbtool/gdb/replay/snapshots.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rdb::gdb {
namespace {

constexpr size_t kMost = 24;

void add(std::vector<Time>& kept, Time time) {
  kept.insert(std::ranges::upper_bound(kept, time), time);
  if (kept.size() > kMost) kept.erase(kept.begin() + static_cast<ptrdiff_t>(least_useful(kept, time)));
}

// The longest stretch between two snapshots, in parts of the distance from `here` to its far end.
double widest(const std::vector<Time>& kept, Time here, uint64_t interval) {
  double most = 0;
  for (size_t i = 1; i < kept.size(); ++i) {
    uint64_t distance = kept[i] <= here ? here - kept[i - 1] : kept[i] - here;
    most = std::max(most, static_cast<double>(kept[i] - kept[i - 1]) /
                              static_cast<double>(std::max(distance, 4 * interval)));
  }
  return most;
}

TEST(Snapshots, AreDenseWhereTheUserIs) {
  std::vector<Time> kept = {Time(0)};
  for (uint64_t time = 1000; time <= 3'000'000; time += 1000) {
    add(kept, Time(time));
    EXPECT_EQ(kept.front(), Time(0));
    EXPECT_EQ(kept.back(), Time(time));
    EXPECT_LE(widest(kept, Time(time), 1000), 0.5) << "at " << time;
  }
  // A step back from the end begins at one of the last.
  EXPECT_GE(kept[kept.size() - 2], Time(2'996'000));
}

TEST(Snapshots, FollowTheUserBackwards) {
  std::vector<Time> kept = {Time(0)};
  for (uint64_t time = 1000; time <= 1'000'000; time += 1000)
    add(kept, Time(time));
  // Going back, the stretch before is replayed, and snapshots are left on the way.
  for (uint64_t end = 1'000'000; end > 0;) {
    auto from = *std::prev(std::ranges::lower_bound(kept, Time(end)));
    for (uint64_t time = from.value + 1000; time < end; time += 1000)
      add(kept, Time(time));
    EXPECT_LE(end - std::prev(std::ranges::lower_bound(kept, Time(end)))->value, 2000u);
    end = from.value;
  }
}

constexpr size_t kMiB = 1 << 20;

// Answers as a replay process does. To advance is to write to so many MiB, the same ones every time.
[[noreturn]] void serve(int fd) {
  signal(SIGCHLD, SIG_IGN);
  constexpr size_t kRoom = 64 * kMiB;
  void* room =
      mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) _exit(1);
  for (uint8_t round = 1;; ++round) {
    int copy_fd = -1;
    std::optional<Message> request = receive_message(fd, &copy_fd);
    if (!request) _exit(0);
    auto command = request->get<ReplayCommand>();
    Message reply;
    put(reply, std::optional<Failure>());
    if (command == ReplayCommand::snapshot) {
      pid_t copy = fork();
      if (copy == 0) {
        close(fd);
        fd = copy_fd;
        continue;
      }
      close(copy_fd);
      reply.put(static_cast<int32_t>(copy));
    } else {
      std::memset(room, round, request->get<size_t>() * kMiB);
      reply.put(std::string_view());
    }
    if (!send_message(fd, reply)) _exit(0);
  }
}

ReplayProcess start_process() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    serve(ends[1]);
  }
  close(ends[1]);
  return {ends[0], child};
}

void write_memory(ReplayProcess& process, size_t mib) {
  Message request;
  request.put(mib);
  process.ask(ReplayCommand::advance, request);
}

Position at(uint64_t time) {
  return {Time(time), 0};
}

TEST(Snapshots, ThatAnEndedProcessHadPartOfTakeMore) {
  Snapshots snapshots({.count = 24, .bytes = 50 * kMiB});
  ReplayProcess first = start_process();
  snapshots.set_first(at(0), first.fork_copy());
  ReplayProcess process = first.fork_copy();
  write_memory(process, 40);
  snapshots.add(at(1), process);
  write_memory(process, 40);
  snapshots.add(at(2), process);
  EXPECT_EQ(snapshots.count(), 3u) << "the process has the memory of one of them";
  process = first.fork_copy();
  snapshots.rest(at(2), process);
  EXPECT_EQ(snapshots.count(), 2u) << "it has ended";
}

TEST(Snapshots, TakeNoMemoryWhenTheyAreDropped) {
  ReplayProcess first = start_process();
  write_memory(first, 40);
  for (int i = 0; i < 5; ++i) {
    pid_t pid = 0;
    {
      ReplayProcess copy = first.fork_copy();
      write_memory(copy, 40);
      pid = copy.pid();
    }
    std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
    uint64_t pages = 0;
    file >> pages; // nothing to read if it is gone
    EXPECT_EQ(pages, 0u);
  }
}

} // namespace
} // namespace rdb::gdb
