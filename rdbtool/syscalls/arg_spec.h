// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one argument of a system call is, as data: a value, something the kernel reads, or something it
// writes and how much of it. Redirection and description are both driven by these few words, so most new
// calls are a row in table.cc. Code is needed only for a call that rdb itself has to do something about.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdb {

enum class ArgKind : uint8_t {
  none,
  // Plain values; they differ in how they are shown.
  integer,      // 32 bits, signed
  uint,         // 32 bits
  long_integer, // 64 bits, signed
  size,         // 64 bits
  hex,
  octal,
  fd,
  dir_fd,
  signal,
  flags,   // named bits, `names` says which
  choice,  // one of several names, `names` says which
  address, // a guest address that the kernel does not dereference as data
  // What the kernel reads; passed to it as it is, so a bad pointer gives the native EFAULT.
  string,
  string_list,
  in,       // `size` bytes
  in_bytes, // args[count_arg] elements of `size` bytes
  in_text,  // the same, shown as text
  iovec_in, // args[count_arg] vectors
  msghdr_in,
  // What the kernel writes and nothing else. Success means result >= 0.
  out,             // `size` bytes on success
  out_if_positive, // `size` bytes if result > 0
  out_result,      // result elements of `size` bytes, room for args[count_arg] of them
  out_records,     // the same in bytes, with holes between records that the kernel does not write
  out_text,        // the same with elements of one byte, shown as text
  iovec_out,       // result bytes over args[count_arg] vectors
  // What the kernel reads and may write, or writes in ways that depend on more than the result: it is
  // copied in, and after the call whatever changed is what was written.
  update,           // `size` bytes
  update_exact,     // the same, and whoever touches more faults: sizes that only a request itself vouches for
  update_array,     // args[count_arg] elements of `size` bytes
  update_bits,      // a bit set: args[count_arg] bits in words of 8 bytes
  update_pages,     // one byte for every page of args[count_arg] bytes
  update_message,   // a type of 8 bytes and args[count_arg] bytes of text
  update_sized,     // `size` bytes and as many more as the first 32-bit word says
  update_by_length, // as many elements of `size` bytes as the 32-bit word behind args[count_arg] says
  sockaddr,         // room as the 32-bit word behind args[count_arg] says
  msghdr,           // recvmsg
  mmsghdr,          // recvmmsg, args[count_arg] of them
  fiemap,           // 32 bytes and extents as the header says
  dedupe_range,     // 24 bytes and ranges as the header says
  xattr_args,       // a pointer to a buffer and its length; result bytes are written
  ifconf,           // a length and a pointer to a buffer of that length
  // The call's variant table decides, by request, command or option.
  by_variant,
};

enum class NameSet : uint8_t {
  none,
  open_flags,
  at_flags,
  protection,
  map_flags,
  socket_domain,
  socket_type,
  message_flags,
  seek_whence,
  clock_id,
  access_mode,
  wait_options,
  signal_how,
  futex_op,
  madvise,
  resource,
  socket_level,
  clone_flags,
};

// How a structure is shown; Bytes is the fallback.
enum class Shape : uint8_t {
  bytes,
  words32, // an array of int
  words64,
  hex64,
  timespec,
  timeval,
  pollfds,
  epoll_events,
  fd_bits,
  socket_name,
  signal_set,
  wait_status,
  file_status,
  opaque, // shown as its address
};

struct ArgSpec {
  ArgKind kind = ArgKind::none;
  NameSet names = NameSet::none;
  Shape shape = Shape::bytes;
  uint8_t count_arg = 0;
  uint32_t size = 0;

  constexpr bool operator==(const ArgSpec&) const = default;
};

// Whether the kernel may write guest memory through such an argument.
constexpr bool is_output(ArgKind kind) {
  return kind >= ArgKind::out;
}
// Whether the kernel only reads memory through it.
constexpr bool is_input(ArgKind kind) {
  return kind >= ArgKind::string && kind < ArgKind::out;
}

} // namespace rdb
