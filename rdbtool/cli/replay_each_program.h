// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plays the programs that a process was, by execve, one after another, each in a process of its own: an
// engine runs one program. What the user asked for is missing only if all of them lack it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rdb::cli {

// What the user asked for and a program had no use for: a line each.
struct Complaint {
  std::string text;
  bool is_error = false; // it was asked for in vain: the command fails
  bool operator==(const Complaint&) const = default;
};
using Complaints = std::vector<Complaint>;
using Complain = std::function<void(const Complaints&)>;

// Ends with kExitUsage if one of them is an error.
void say_all(const Complaints& complaints);

// Calls `play` for 0, 1 ... in processes of their own and ends as the last one did, or the first that did not
// end well. `play` returns its exit status, or ends its process.
[[noreturn]] void play_in_turn(size_t count,
                               const std::function<int(size_t number, const Complain& complain)>& play);

} // namespace rdb::cli
