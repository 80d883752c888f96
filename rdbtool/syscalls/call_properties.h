// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb must know about a system call besides its arguments: whether it may take the fast path, what it
// does to file descriptors, files and mappings, what it waits for. A property stands in the call's row of the
// table and nowhere else.
#pragma once

#include <array>
#include <cstdint>

namespace rdb {

// Whether a call may be made without leaving translated code; see "Two ways through a system call" in
// docs/how-it-works.md.
enum class FastPath : uint8_t {
  no,
  replay,     // only the answer from the log
  unrecorded, // and the call itself in `rdb run`; recording it needs more than one known buffer
  always,     // recorded, too
};

// How a call names the bytes that it moves between a file descriptor, argument 0, and memory.
enum class DataForm : uint8_t {
  none,
  buffer,   // argument 1 points to argument 2 bytes
  vectors,  // argument 1 points to argument 2 iovecs
  message,  // argument 1 points to a msghdr
  messages, // argument 1 points to argument 2 mmsghdrs
};

enum class DescriptorEffect : uint8_t {
  may_change, // anything may be different afterwards
  keeps,      // every descriptor and every mapping means what it meant before
  moves,      // a number that is in use becomes another file's, or nobody's
};

// What a call does to the mappings of the process.
enum class MappingChange : uint8_t {
  none,
  map,
  unmap,
  protect,
  protect_with_key,
  move, // mremap
  attach,
  detach, // System V segments
  advise,
  set_break,
};

// Where in a file a call writes.
enum class FilePosition : uint8_t {
  unknown,
  own,         // the descriptor's own position
  in_argument, // argument 3
  pointed_to,  // argument 3 points to it, or is null: the descriptor's own
};

enum class TimeUnit : uint8_t { milliseconds, timeval, timespec };

inline constexpr int16_t kNoArgument = -1;

struct CallProperties {
  FastPath fast = FastPath::no;
  DataForm reads = DataForm::none;  // from a file
  DataForm writes = DataForm::none; // to a file or a socket
  DescriptorEffect descriptors = DescriptorEffect::may_change;
  // The poll() event that must be there for the call on argument 0 to go through at once; 0: there is none.
  int16_t waits_for = 0;
  int16_t timeout_arg = kNoArgument; // how long it waits at most
  TimeUnit timeout_unit = TimeUnit::timespec;
  int16_t mask_arg =
      kNoArgument; // points to the signal mask with which it waits; pselect6's to such a pointer
  int16_t output_arg = kNoArgument;     // the file descriptor that bytes go to
  int16_t changed_fd_arg = kNoArgument; // the file descriptor of a file that it may change
  // FastPath::always: the argument whose memory it writes, if it writes any, and how much of it: that many
  // bytes, or if that is 0 as many as the result says, with room for those that another argument says.
  int16_t buffer_arg = kNoArgument;
  uint16_t buffer_size = 0;
  uint8_t room_arg = 0;
  bool on_descriptor = false;          // argument 0 is a file descriptor
  int16_t path_arg = kNoArgument;      // the path of the file that it opens, looks at or cuts off
  int16_t directory_arg = kNoArgument; // the directory that the path begins at
  bool opens = false;                  // open() and its relatives
  bool looks_up = false;               // tells something about the file at a path, or opens it
  bool truncates = false;              // may cut a file off, or set its size
  MappingChange mapping = MappingChange::none;
  FilePosition position = FilePosition::unknown;
  bool sends_signal = false;
  bool writes_to_disk = false; // what files hold
  bool is_internal = false;    // the machine that runs the guest does it, in recording and replay alike
  bool is_harmless = false;    // programs try it, and do well without: a refusal is not worth a word
};

// Whether other mappings, or other rights to them, may be there afterwards.
constexpr bool changes_mappings(const CallProperties& properties) {
  return properties.mapping != MappingChange::none && properties.mapping != MappingChange::advise &&
         properties.mapping != MappingChange::set_break;
}

inline constexpr uint64_t kSyscallLimit = 512;
extern const std::array<CallProperties, kSyscallLimit> kCallProperties;

// Touches constant data only.
inline const CallProperties& properties_of(int64_t number) {
  static constexpr CallProperties kNone{};
  return static_cast<uint64_t>(number) < kSyscallLimit ? kCallProperties[static_cast<uint64_t>(number)]
                                                       : kNone;
}

} // namespace rdb
