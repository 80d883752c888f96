// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/replay_each_program.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/command_line.h"
#include "rdbtool/guest/process/ending.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

// How another process tells them: a letter and the text, one a line.
constexpr char kError = 'E', kRemark = 'R';

// The complaints of another process, up to its end.
Complaints received(int from) {
  Complaints complaints;
  FILE* lines = fdopen(from, "r");
  if (lines == nullptr) bug("fdopen: {}", std::strerror(errno));
  char* line = nullptr;
  size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, lines)) > 0;)
    complaints.push_back({std::string(line + 1, static_cast<size_t>(length - 2)), *line == kError});
  std::free(line);
  std::fclose(lines);
  return complaints;
}

guest::Ending wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return guest::ending_of(status);
}

} // namespace

void say_all(const Complaints& complaints) {
  for (const Complaint& complaint : complaints)
    print_error("rdb: {}\n", visible_text(complaint.text));
  if (std::ranges::any_of(complaints, &Complaint::is_error))
    guest::end_as({guest::Ending::Kind::exited, kExitUsage});
}

void play_in_turn(size_t count, const std::function<int(size_t number, const Complain& complain)>& play) {
  Complaints shared;
  guest::Ending ending;
  for (size_t number = 0; number < count; ++number) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) user_error("no pipe can be made: {}", std::strerror(errno));
    std::fflush(nullptr);
    pid_t child = fork();
    if (child < 0) user_error("no process for the replay can be made: {}", std::strerror(errno));
    if (child == 0) {
      close(ends[0]);
      auto complain = [&](const Complaints& own) {
        for (const auto& [text, is_error] : own)
          dprintf(ends[1], "%c%s\n", is_error ? kError : kRemark, visible_text(text).c_str());
      };
      int status = guarded([&] { return play(number, complain); });
      std::fflush(nullptr);
      _exit(status);
    }
    close(ends[1]);
    Complaints own = received(ends[0]);
    ending = wait_for(child);
    if (number == 0) shared = own;
    std::erase_if(shared, [&](const Complaint& one) { return std::ranges::find(own, one) == own.end(); });
    if (ending.kind != guest::Ending::Kind::exited || ending.value != 0) break;
  }
  say_all(shared);
  guest::end_as(ending);
}

} // namespace rdb::cli
