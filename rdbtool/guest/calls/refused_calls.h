// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb refuses a program: the error that the program gets for such a call, and the line that the user
// reads about it.
#pragma once

#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/syscalls/table.h"

#include <set>
#include <string>

namespace rdb::guest {

// What the kernel would find wrong with the arguments before it comes to what rdb does not do, as an error;
// or the table's error; 0 if there is nothing to refuse.
int error_of_refused(const CallShape& shape, const SyscallArgs& arguments, AddressSpace& space);

// Programs try these and do well without them: many machines do not have them either.
bool is_harmless(const CallShape& shape);

// Whether the user is told of harmless ones, too (-v). Handed on across execve.
void tell_harmless(bool tell);
bool tells_harmless();

// Tells the user what the program was refused, once for each text.
class Refusals {
public:
  void tell(const std::string& refused);
  void tell_call(const CallShape& shape, const SyscallArgs& arguments);

private:
  std::set<std::string> told_;
};

} // namespace rdb::guest
