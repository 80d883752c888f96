// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's own descriptors in a process that it shares with the guest. They live in a small range of
// numbers above those that programs use; the guest's calls find nothing open there.
#pragma once

#include <cstdint>

namespace rdb::guest {

// Moves a descriptor up into the host's range and closes the low one. The descriptor itself if there is no
// room: then it is the host's all the same.
int move_out_of_reach(int fd);
// A copy of the guest's descriptor there; -1 if there is no room or no such descriptor.
int duplicate_out_of_reach(int fd);
// One that an earlier rdb in this process has moved there and left open.
int adopt_own_descriptor(int fd);
void close_own_descriptor(int fd);

// Where rdb's own words go while the guest runs: a copy of standard error, which the guest may close. Made by
// the first call.
int own_error_stream();

// Where rdb was started without standard streams, what it opens would get their numbers, and its messages
// would end in its own files. These descriptors stand in for them meanwhile: nothing can be read from or
// written to them. The guest must find them closed again.
void occupy_closed_streams();
void release_occupied_streams();

// Descriptors below this are never the host's.
inline constexpr uint64_t kNeverOwn = 64;
bool is_own_descriptor(int fd);
// The next one at or after `fd`, -1 if there is none.
int next_own_descriptor(int fd);

} // namespace rdb::guest
