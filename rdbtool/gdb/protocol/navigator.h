// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Moving about in a recording by position: the commands `when`, `goto`, `bookmark`, `checkpoint` and their
// kind, as `monitor` gives them. Bookmarks and checkpoints outlive a connection.
#pragma once

#include "rdbtool/gdb/protocol/target.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rdb::gdb {

class Navigator {
public:
  explicit Navigator(Target& target) : target_(target) {}

  // What a command answers, and where it wants to go.
  struct Result {
    std::string text;
    std::optional<Position> go_to;
    std::optional<Watchpoint> last_write; // go back to where this was written last
    // Go when gdb resumes next, and report that as a stop: so gdb notices by itself that all has changed.
    bool at_resume = false;

    bool moves() const { return go_to || last_write; }
  };
  // Throws UserError with a line for the user.
  Result execute(std::string_view command);
  // Goes where a command wanted to go. Throws UserError, and stays, if there is no such place.
  StopEvent move(const Result& command, InterruptSource* interrupt);

  // "TIME", "TIME.INPUTS", "NN%", "start", "end", or a bookmark. Throws UserError.
  Position parse(std::string_view text) const;
  // The inverse of the first two, for where the target is now.
  std::string here() const;

private:
  struct Mark {
    Position position;
    std::string text;
    std::string note;
  };

  static Result last_write(std::string_view arguments);
  StopEvent go_to_write(const Watchpoint& memory, InterruptSource* interrupt);
  Result bookmark(std::string_view name);
  Result checkpoint(std::string_view note);
  Result restart(std::string_view number);
  Result delete_checkpoint(std::string_view number);
  std::string list_checkpoints() const;
  int checkpoint_number(std::string_view text) const;

  Target& target_;
  std::map<std::string, Mark, std::less<>> bookmarks_;
  std::map<int, Mark> checkpoints_;
  int next_checkpoint_ = 1;
};

} // namespace rdb::gdb
