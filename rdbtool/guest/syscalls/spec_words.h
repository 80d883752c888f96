// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words in which the tables of system calls are written: one short name per kind of argument, so that a
// row reads like a prototype.
#pragma once

#include "rdbtool/guest/syscalls/table.h"

#include <cerrno>

namespace rdb::spec {

inline constexpr CallClass emulated = CallClass::Emulated;
inline constexpr CallClass memory = CallClass::Memory;
inline constexpr CallClass thread = CallClass::Thread;
inline constexpr CallClass signal = CallClass::Signal;
inline constexpr CallClass process = CallClass::Process;
inline constexpr Blocking never = Blocking::Never;
inline constexpr Blocking may = Blocking::May;

// Values.
inline constexpr ArgSpec i32{ArgKind::Int};
inline constexpr ArgSpec u32{ArgKind::Uint};
inline constexpr ArgSpec off{ArgKind::Long};
inline constexpr ArgSpec size{ArgKind::Size};
inline constexpr ArgSpec hex{ArgKind::Hex};
inline constexpr ArgSpec mode{ArgKind::Octal};
inline constexpr ArgSpec fd{ArgKind::Fd};
inline constexpr ArgSpec dirfd{ArgKind::DirFd};
inline constexpr ArgSpec sig{ArgKind::Signal};
inline constexpr ArgSpec addr{ArgKind::Address};
inline constexpr ArgSpec none{};

constexpr ArgSpec flags(NameSet names) {
  return {ArgKind::Flags, names};
}
constexpr ArgSpec choice(NameSet names) {
  return {ArgKind::Choice, names};
}

// Inputs.
inline constexpr ArgSpec str{ArgKind::String};
inline constexpr ArgSpec strings{ArgKind::StringList};
inline constexpr ArgSpec msg_in{ArgKind::MsghdrIn};
constexpr ArgSpec in(uint32_t bytes, Shape shape = Shape::Opaque) {
  return {ArgKind::In, NameSet::None, shape, 0, bytes};
}
constexpr ArgSpec in_bytes(uint8_t count_arg) {
  return {ArgKind::InBytes, NameSet::None, Shape::Bytes, count_arg, 1};
}
constexpr ArgSpec in_array(uint8_t count_arg, uint32_t element, Shape shape = Shape::Opaque) {
  return {ArgKind::InBytes, NameSet::None, shape, count_arg, element};
}
constexpr ArgSpec in_text(uint8_t count_arg) {
  return {ArgKind::InText, NameSet::None, Shape::Bytes, count_arg, 1};
}
constexpr ArgSpec in_name(uint8_t count_arg) {
  return {ArgKind::InBytes, NameSet::None, Shape::SocketName, count_arg, 1};
}
constexpr ArgSpec iov_in(uint8_t count_arg) {
  return {ArgKind::IovecIn, NameSet::None, Shape::Bytes, count_arg, 16};
}

// Outputs.
constexpr ArgSpec out(uint32_t bytes, Shape shape = Shape::Opaque) {
  return {ArgKind::Out, NameSet::None, shape, 0, bytes};
}
constexpr ArgSpec out_if_positive(uint32_t bytes, Shape shape = Shape::Opaque) {
  return {ArgKind::OutIfPositive, NameSet::None, shape, 0, bytes};
}
constexpr ArgSpec out_text(uint8_t count_arg) {
  return {ArgKind::OutText, NameSet::None, Shape::Bytes, count_arg, 1};
}
constexpr ArgSpec out_array(uint8_t count_arg, uint32_t element, Shape shape = Shape::Opaque) {
  return {ArgKind::OutResult, NameSet::None, shape, count_arg, element};
}
constexpr ArgSpec out_records(uint8_t count_arg) {
  return {ArgKind::OutRecords, NameSet::None, Shape::Opaque, count_arg, 1};
}
constexpr ArgSpec iov_out(uint8_t count_arg) {
  return {ArgKind::IovecOut, NameSet::None, Shape::Bytes, count_arg, 16};
}

// Read and written.
constexpr ArgSpec update(uint32_t bytes, Shape shape = Shape::Opaque) {
  return {ArgKind::Update, NameSet::None, shape, 0, bytes};
}
constexpr ArgSpec update_array(uint8_t count_arg, uint32_t element, Shape shape = Shape::Opaque) {
  return {ArgKind::UpdateArray, NameSet::None, shape, count_arg, element};
}
constexpr ArgSpec update_bits(uint8_t count_arg) {
  return {ArgKind::UpdateBits, NameSet::None, Shape::FdBits, count_arg, 0};
}
constexpr ArgSpec update_pages(uint8_t count_arg) {
  return {ArgKind::UpdatePages, NameSet::None, Shape::Opaque, count_arg, 1};
}
constexpr ArgSpec update_message(uint8_t count_arg) {
  return {ArgKind::UpdateMessage, NameSet::None, Shape::Opaque, count_arg, 8};
}
constexpr ArgSpec update_sized(uint32_t fixed_part) {
  return {ArgKind::UpdateSized, NameSet::None, Shape::Opaque, 0, fixed_part};
}
constexpr ArgSpec update_by_length(uint8_t length_arg, uint32_t element = 1) {
  return {ArgKind::UpdateByLength, NameSet::None, Shape::Bytes, length_arg, element};
}
constexpr ArgSpec sockname(uint8_t length_arg) {
  return {ArgKind::Sockaddr, NameSet::None, Shape::SocketName, length_arg, 1};
}
inline constexpr ArgSpec length = update(4, Shape::Words32);
inline constexpr ArgSpec offset = update(8, Shape::Words64);
inline constexpr ArgSpec msg{ArgKind::Msghdr, NameSet::None, Shape::Opaque, 0, 56};
constexpr ArgSpec mmsg(uint8_t count_arg) {
  return {ArgKind::Mmsghdr, NameSet::None, Shape::Opaque, count_arg, 64};
}
inline constexpr ArgSpec by_variant{ArgKind::ByVariant, NameSet::None, Shape::Opaque};

// Structures with a name of their own.
inline constexpr ArgSpec timespec_in = in(16, Shape::Timespec);
inline constexpr ArgSpec timespec_out = out(16, Shape::Timespec);
inline constexpr ArgSpec timespec_update = update(16, Shape::Timespec);
inline constexpr ArgSpec timeval_in = in(16, Shape::Timeval);
inline constexpr ArgSpec timeval_out = out(16, Shape::Timeval);
inline constexpr ArgSpec timeval_update = update(16, Shape::Timeval);
inline constexpr ArgSpec sigset_in = in(8, Shape::SignalSet);
inline constexpr ArgSpec sigset_out = out(8, Shape::SignalSet);
inline constexpr ArgSpec stat_out = out(144, Shape::FileStatus);

template <class... Args>
constexpr SyscallInfo call(uint16_t number, const char* name, CallClass call_class, Blocking blocking,
                           Args... args) {
  return {number, name, call_class, blocking, static_cast<uint8_t>(sizeof...(Args)), {args...}};
}
template <class... Args>
constexpr SyscallInfo varied(uint16_t number, const char* name, CallClass call_class, Blocking blocking,
                             const VariantTable& variants, Args... args) {
  SyscallInfo info = call(number, name, call_class, blocking, args...);
  info.variants = &variants;
  info.has_variants = true;
  return info;
}
constexpr SyscallInfo refused(uint16_t number, const char* name, int error, const char* reason) {
  return {number, name,  CallClass::Refused, Blocking::Never, 6, {hex, hex, hex, hex, hex, hex}, nullptr,
          error,  reason};
}

constexpr CallVariant variant(uint64_t selector, const char* name, ArgSpec arg = none,
                              CallClass call_class = emulated, Blocking blocking = never) {
  return {selector, name, call_class, blocking, arg};
}
constexpr CallVariant refused_variant(uint64_t selector, const char* name, int error, const char* reason) {
  return {selector, name, CallClass::Refused, Blocking::Never, hex, error, reason};
}

} // namespace rdb::spec
