// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeping and dropping snapshots.
#include "rdbtool/gdb/replay/snapshots.h"

#include "rdbtool/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace rdb::gdb {

ReplayProcess::ReplayProcess(ReplayProcess&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pid_(std::exchange(other.pid_, -1)),
      failed_after_(other.failed_after_) {}

ReplayProcess& ReplayProcess::operator=(ReplayProcess&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(pid_, other.pid_);
  std::swap(failed_after_, other.failed_after_);
  return *this;
}

// The process ends when it finds that nothing more comes. The kernel takes its memory first and closes its
// end of the socket after that, so the end of what comes from there says that the memory is free. A process
// that still had some would share it with the snapshots, and they would seem to take less than they do.
ReplayProcess::~ReplayProcess() {
  if (fd_ < 0) return;
  shutdown(fd_, SHUT_WR);
  char rest[64];
  while (TEMP_FAILURE_RETRY(read(fd_, rest, sizeof rest)) > 0) {
  }
  close(fd_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0); // only the first one is this process's own child
}

Message ReplayProcess::ask(ReplayCommand command, const Message& arguments) {
  Message request;
  request.put(command);
  std::optional<Message> reply;
  if (send_message(fd_, Message(request.bytes() + arguments.bytes()))) reply = receive_message(fd_);
  if (!reply) throw ReplayEnded();
  if (std::optional<Failure> failure = get_failure(*reply)) {
    failed_after_ = reply->get<Position>();
    failure->raise();
  }
  return Message(reply->get_text());
}

Advanced ReplayProcess::advance(const Advance& request) {
  Message arguments;
  put(arguments, request);
  Message reply = ask(ReplayCommand::advance, arguments);
  return get_advanced(reply);
}

ReplayProcess ReplayProcess::fork_copy() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) bug("no socket for a copy of the replay");
  Message request;
  request.put(ReplayCommand::snapshot);
  bool sent = send_message(fd_, request, ends[1]);
  close(ends[1]);
  ReplayProcess copy(ends[0], -1);
  std::optional<Message> reply;
  if (sent) reply = receive_message(fd_);
  if (!reply) throw ReplayEnded();
  if (std::optional<Failure> failure = get_failure(*reply)) failure->raise();
  copy.pid_ = reply->get<int32_t>();
  return copy;
}

ReplayProcess::Memory ReplayProcess::memory() const {
  Memory memory;
  std::string path = fmt::format("/proc/{}/smaps_rollup", pid_);
  FILE* file = fopen(path.c_str(), "re");
  if (!file) return memory;
  char line[256];
  auto take = [&line](std::string_view name, uint64_t& bytes) {
    if (std::string_view(line).starts_with(name))
      bytes = std::strtoull(line + name.size(), nullptr, 10) * 1024;
  };
  while (fgets(line, sizeof line, file)) {
    take("Pss_Anon:", memory.share);
    take("Anonymous:", memory.all);
  }
  fclose(file);
  return memory;
}

uint64_t ReplayProcess::page_faults() const {
  std::string path = fmt::format("/proc/{}/stat", pid_);
  FILE* file = fopen(path.c_str(), "re");
  if (!file) return 0;
  char line[512] = "";
  bool read = fgets(line, sizeof line, file);
  fclose(file);
  // Behind the name, which may hold anything, minor faults are the eighth.
  const char* at = read ? strrchr(line, ')') : nullptr;
  for (int i = 0; at && i < 8; ++i)
    at = strchr(at + 1, ' ');
  return at ? std::strtoull(at, nullptr, 10) : 0;
}

void Snapshots::set_first(Position position, ReplayProcess process) {
  kept_.insert_or_assign(position, std::move(process));
}

void Snapshots::add(Position position, ReplayProcess& process) {
  if (kept_.contains(position)) return;
  Clock::time_point start = Clock::now();
  kept_.insert_or_assign(position, process.fork_copy());
  thin(position, process);
  last_ = Clock::now();
  cost_ = last_ - start;
}

void Snapshots::add_if_due(Position position, ReplayProcess& process) {
  // At most one part in twenty of the time goes into snapshots.
  Clock::duration passed = Clock::now() - last_;
  if (passed >= interval_ && passed >= 20 * cost_)
    add(position, process);
  else
    bound(position, process, limits_.bytes / 16);
}

// Measuring takes long where there is much memory. So it is done only if they may have grown beyond the
// limit. What a process that goes on shares with them is not counted as theirs: it becomes theirs alone where
// that process writes, and all of it does when that process ends and another one goes on. (Twice, as still
// another process may have had a part of it when it was measured, the one where the user was.)
void Snapshots::bound(Position here, const ReplayProcess& process, uint64_t tolerance) {
  constexpr uint64_t kPage = 4096;
  if (measured_by_ != process.pid()) {
    if (measured_by_ < 0 || measured_ + 2 * all_then_ > limits_.bytes) thin(here, process);
    return;
  }
  uint64_t faults = process.page_faults();
  uint64_t written = (faults - std::min(faults_then_, faults)) * kPage;
  if (written > tolerance && measured_ + written > limits_.bytes) thin(here, process);
}

size_t least_useful(std::span<const Time> kept, Time here) {
  size_t chosen = 1;
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i + 1 < kept.size(); ++i) {
    uint64_t distance = here > kept[i] ? here - kept[i] : kept[i] - here;
    double use = static_cast<double>(kept[i + 1] - kept[i - 1]) / (static_cast<double>(distance) + 1);
    if (use >= least) continue;
    least = use;
    chosen = i;
  }
  return chosen;
}

// What they cost is what all of them have beyond the memory of the process that goes on.
void Snapshots::thin(Position here, const ReplayProcess& process) {
  for (;;) {
    measured_by_ = process.pid();
    faults_then_ = process.page_faults();
    ReplayProcess::Memory used = process.memory();
    uint64_t bytes = used.share;
    for (const auto& [position, kept] : kept_)
      bytes += kept.memory().share;
    measured_ = bytes - std::min(bytes, used.all);
    all_then_ = used.all;
    if ((kept_.size() <= limits_.count && measured_ <= limits_.bytes) || kept_.size() <= 1) return;
    if (kept_.size() == 2) {
      // Not even one fits: try less often.
      kept_.erase(std::next(kept_.begin()));
      interval_ *= 2;
      continue;
    }
    std::vector<Time> times;
    times.reserve(kept_.size());
    for (const auto& [position, kept] : kept_)
      times.push_back(position.time);
    kept_.erase(std::next(kept_.begin(), static_cast<ptrdiff_t>(least_useful(times, here.time))));
  }
}

Position Snapshots::at_or_before(Position position) const {
  auto after = kept_.upper_bound(position);
  return after == kept_.begin() ? after->first : std::prev(after)->first;
}

std::optional<Position> Snapshots::before(Position position) const {
  auto at = kept_.lower_bound(position);
  if (at == kept_.begin()) return std::nullopt;
  return std::prev(at)->first;
}

ReplayProcess Snapshots::copy_of(Position position) {
  return kept_.at(position).fork_copy();
}

} // namespace rdb::gdb
