// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens files whose content rdb is going to run: debug modules and what describes them, compile commands,
// sources that are compiled into a module. The problem: a recording comes from anywhere and names paths of
// its own choice, and in a folder such as /tmp anybody can prepare what is found there. So only the user and
// root may be able to change such a file, or to put another in its place.
#pragma once

#include "rdbtool/base/owned_fd.h"

#include <string>

namespace rdb {

enum class LastLink { refuse, follow };

// Opens a regular file for reading. Throws UserError that names the file or folder to blame and says why: the
// file must belong to the user or to root, and nobody else may write to it. The folder that it is in, and all
// folders above, likewise, except that a folder with the sticky bit, as /tmp is, may be open to all. A link
// on the way must belong to the user or to root; what it leads through is checked in the same way. The file
// itself may be a link, of that kind, only with kFollow. Throws std::system_error if something is missing or
// cannot be opened.
OwnedFd open_trusted_file(const std::string& path, LastLink last = LastLink::refuse);

// The same for a folder; it must not be a link, nor open to others by the sticky bit.
OwnedFd open_trusted_folder(const std::string& path);

// Empty if open_trusted_file() would open the file; else why not, as a sentence without a full stop.
std::string why_not_trusted(const std::string& path, LastLink last = LastLink::refuse);

// The same for a file of rdb's own installation: nobody may be able to change it who cannot change the
// program of this path as well.
std::string why_not_trusted_as(const std::string& path, const std::string& program);

} // namespace rdb
