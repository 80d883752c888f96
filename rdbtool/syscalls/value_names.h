// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of flags and constants in system call arguments, for people to read.
#pragma once

#include "rdbtool/syscalls/arg_spec.h"

#include <string>

namespace rdb {

// The bits by name, the rest in hexadecimal: O_RDWR|O_CREAT|0x10000000.
std::string flag_names(NameSet set, uint64_t value);
// The one name of the value, or the number.
std::string choice_name(NameSet set, uint64_t value);
// "SIGINT" for 2.
std::string signal_name(int signal);
// "ENOENT" for 2.
std::string errno_name(int error);

} // namespace rdb
