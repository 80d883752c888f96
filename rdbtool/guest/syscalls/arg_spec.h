// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one argument of a system call is, as data: a value, something the kernel reads, or something it
// writes and how much of it. Redirection and description are both driven by these few words, so a new call
// is a row in a table and no code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdb {

enum class ArgKind : uint8_t {
  None,
  // Plain values; they differ in how they are shown.
  Int,  // 32 bits, signed
  Uint, // 32 bits
  Long, // 64 bits, signed
  Size, // 64 bits
  Hex,
  Octal,
  Fd,
  DirFd,
  Signal,
  Flags,   // named bits, `names` says which
  Choice,  // one of several names, `names` says which
  Address, // a guest address that the kernel does not dereference as data
  // What the kernel reads; passed to it as it is, so a bad pointer gives the native EFAULT.
  String,
  StringList,
  In,      // `size` bytes
  InBytes, // args[count_arg] elements of `size` bytes
  InText,  // the same, shown as text
  IovecIn, // args[count_arg] vectors
  MsghdrIn,
  // What the kernel writes and nothing else. Success means result >= 0.
  Out,           // `size` bytes on success
  OutIfPositive, // `size` bytes if result > 0
  OutResult,     // result elements of `size` bytes, room for args[count_arg] of them
  OutRecords,    // the same in bytes, with holes between records that the kernel does not write
  OutText,       // the same with elements of one byte, shown as text
  IovecOut,      // result bytes over args[count_arg] vectors
  // What the kernel reads and may write, or writes in ways that depend on more than the result: it is
  // copied in, and after the call whatever changed is what was written.
  Update,         // `size` bytes
  UpdateExact,    // the same, and whoever touches more faults: sizes that only a request itself vouches for
  UpdateArray,    // args[count_arg] elements of `size` bytes
  UpdateBits,     // a bit set: args[count_arg] bits in words of 8 bytes
  UpdatePages,    // one byte for every page of args[count_arg] bytes
  UpdateMessage,  // a type of 8 bytes and args[count_arg] bytes of text
  UpdateSized,    // `size` bytes and as many more as the first 32-bit word says
  UpdateByLength, // as many elements of `size` bytes as the 32-bit word behind args[count_arg] says
  Sockaddr,       // room as the 32-bit word behind args[count_arg] says
  Msghdr,         // recvmsg
  Mmsghdr,        // recvmmsg, args[count_arg] of them
  Fiemap,         // 32 bytes and extents as the header says
  DedupeRange,    // 24 bytes and ranges as the header says
  XattrArgs,      // a pointer to a buffer and its length; result bytes are written
  Ifconf,         // a length and a pointer to a buffer of that length
  // The call's variant table decides, by request, command or option.
  ByVariant,
};

enum class NameSet : uint8_t {
  None,
  OpenFlags,
  AtFlags,
  Protection,
  MapFlags,
  SocketDomain,
  SocketType,
  MessageFlags,
  SeekWhence,
  ClockId,
  AccessMode,
  WaitOptions,
  SignalHow,
  FutexOp,
  Madvise,
  Resource,
  SocketLevel,
  CloneFlags,
};

// How a structure is shown; Bytes is the fallback.
enum class Shape : uint8_t {
  Bytes,
  Words32, // an array of int
  Words64,
  Hex64,
  Timespec,
  Timeval,
  Pollfds,
  EpollEvents,
  FdBits,
  SocketName,
  SignalSet,
  WaitStatus,
  FileStatus,
  Opaque, // shown as its address
};

struct ArgSpec {
  ArgKind kind = ArgKind::None;
  NameSet names = NameSet::None;
  Shape shape = Shape::Bytes;
  uint8_t count_arg = 0;
  uint32_t size = 0;

  constexpr bool operator==(const ArgSpec&) const = default;
};

// Whether the kernel may write guest memory through such an argument.
constexpr bool is_output(ArgKind kind) {
  return kind >= ArgKind::Out;
}
// Whether the kernel only reads memory through it.
constexpr bool is_input(ArgKind kind) {
  return kind >= ArgKind::String && kind < ArgKind::Out;
}

} // namespace rdb
