// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words in which the tables of system calls are written: one short name per kind of argument, so that a
// row reads like a prototype.
#pragma once

#include "rdbtool/syscalls/table.h"

#include <cerrno>

namespace rdb::spec {

inline constexpr CallClass emulated = CallClass::emulated;
inline constexpr CallClass memory = CallClass::memory;
inline constexpr CallClass thread = CallClass::thread;
inline constexpr CallClass signal = CallClass::signal;
inline constexpr CallClass process = CallClass::process;
inline constexpr Blocking never = Blocking::never;
inline constexpr Blocking may = Blocking::may;

// Values.
inline constexpr ArgSpec i32{ArgKind::integer};
inline constexpr ArgSpec u32{ArgKind::uint};
inline constexpr ArgSpec off{ArgKind::long_integer};
inline constexpr ArgSpec size{ArgKind::size};
inline constexpr ArgSpec hex{ArgKind::hex};
inline constexpr ArgSpec mode{ArgKind::octal};
inline constexpr ArgSpec fd{ArgKind::fd};
inline constexpr ArgSpec dirfd{ArgKind::dir_fd};
inline constexpr ArgSpec sig{ArgKind::signal};
inline constexpr ArgSpec addr{ArgKind::address};
inline constexpr ArgSpec none{};

constexpr ArgSpec flags(NameSet names) {
  return {ArgKind::flags, names};
}
constexpr ArgSpec choice(NameSet names) {
  return {ArgKind::choice, names};
}

// Inputs.
inline constexpr ArgSpec str{ArgKind::string};
inline constexpr ArgSpec strings{ArgKind::string_list};
inline constexpr ArgSpec msg_in{ArgKind::msghdr_in};
constexpr ArgSpec in(uint32_t bytes, Shape shape = Shape::opaque) {
  return {ArgKind::in, NameSet::none, shape, 0, bytes};
}
constexpr ArgSpec in_bytes(uint8_t count_arg) {
  return {ArgKind::in_bytes, NameSet::none, Shape::bytes, count_arg, 1};
}
constexpr ArgSpec in_array(uint8_t count_arg, uint32_t element, Shape shape = Shape::opaque) {
  return {ArgKind::in_bytes, NameSet::none, shape, count_arg, element};
}
constexpr ArgSpec in_text(uint8_t count_arg) {
  return {ArgKind::in_text, NameSet::none, Shape::bytes, count_arg, 1};
}
constexpr ArgSpec in_name(uint8_t count_arg) {
  return {ArgKind::in_bytes, NameSet::none, Shape::socket_name, count_arg, 1};
}
constexpr ArgSpec iov_in(uint8_t count_arg) {
  return {ArgKind::iovec_in, NameSet::none, Shape::bytes, count_arg, 16};
}

// Outputs.
constexpr ArgSpec out(uint32_t bytes, Shape shape = Shape::opaque) {
  return {ArgKind::out, NameSet::none, shape, 0, bytes};
}
constexpr ArgSpec out_if_positive(uint32_t bytes, Shape shape = Shape::opaque) {
  return {ArgKind::out_if_positive, NameSet::none, shape, 0, bytes};
}
constexpr ArgSpec out_text(uint8_t count_arg) {
  return {ArgKind::out_text, NameSet::none, Shape::bytes, count_arg, 1};
}
constexpr ArgSpec out_array(uint8_t count_arg, uint32_t element, Shape shape = Shape::opaque) {
  return {ArgKind::out_result, NameSet::none, shape, count_arg, element};
}
constexpr ArgSpec out_records(uint8_t count_arg) {
  return {ArgKind::out_records, NameSet::none, Shape::opaque, count_arg, 1};
}
constexpr ArgSpec iov_out(uint8_t count_arg) {
  return {ArgKind::iovec_out, NameSet::none, Shape::bytes, count_arg, 16};
}

// Read and written.
constexpr ArgSpec update(uint32_t bytes, Shape shape = Shape::opaque) {
  return {ArgKind::update, NameSet::none, shape, 0, bytes};
}
constexpr ArgSpec update_array(uint8_t count_arg, uint32_t element, Shape shape = Shape::opaque) {
  return {ArgKind::update_array, NameSet::none, shape, count_arg, element};
}
constexpr ArgSpec update_bits(uint8_t count_arg) {
  return {ArgKind::update_bits, NameSet::none, Shape::fd_bits, count_arg, 0};
}
constexpr ArgSpec update_pages(uint8_t count_arg) {
  return {ArgKind::update_pages, NameSet::none, Shape::opaque, count_arg, 1};
}
constexpr ArgSpec update_message(uint8_t count_arg) {
  return {ArgKind::update_message, NameSet::none, Shape::opaque, count_arg, 8};
}
constexpr ArgSpec update_sized(uint32_t fixed_part) {
  return {ArgKind::update_sized, NameSet::none, Shape::opaque, 0, fixed_part};
}
constexpr ArgSpec update_by_length(uint8_t length_arg, uint32_t element = 1) {
  return {ArgKind::update_by_length, NameSet::none, Shape::bytes, length_arg, element};
}
constexpr ArgSpec sockname(uint8_t length_arg) {
  return {ArgKind::sockaddr, NameSet::none, Shape::socket_name, length_arg, 1};
}
inline constexpr ArgSpec length = update(4, Shape::words32);
inline constexpr ArgSpec offset = update(8, Shape::words64);
inline constexpr ArgSpec msg{ArgKind::msghdr, NameSet::none, Shape::opaque, 0, 56};
constexpr ArgSpec mmsg(uint8_t count_arg) {
  return {ArgKind::mmsghdr, NameSet::none, Shape::opaque, count_arg, 64};
}
inline constexpr ArgSpec by_variant{ArgKind::by_variant, NameSet::none, Shape::opaque};

// Structures with a name of their own.
inline constexpr ArgSpec timespec_in = in(16, Shape::timespec);
inline constexpr ArgSpec timespec_out = out(16, Shape::timespec);
inline constexpr ArgSpec timespec_update = update(16, Shape::timespec);
inline constexpr ArgSpec timeval_in = in(16, Shape::timeval);
inline constexpr ArgSpec timeval_out = out(16, Shape::timeval);
inline constexpr ArgSpec timeval_update = update(16, Shape::timeval);
inline constexpr ArgSpec sigset_in = in(8, Shape::signal_set);
inline constexpr ArgSpec sigset_out = out(8, Shape::signal_set);
inline constexpr ArgSpec stat_out = out(144, Shape::file_status);

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
  return {number, name,  CallClass::refused, Blocking::never, 6, {hex, hex, hex, hex, hex, hex}, nullptr,
          error,  reason};
}

// The properties of a call, after its row: call(...) | fast(always) | reads(DataForm::buffer).
template <class Set>
struct Property {
  Set set;
};
template <class Set>
Property(Set) -> Property<Set>;
template <class Set>
constexpr SyscallInfo operator|(SyscallInfo row, Property<Set> property) {
  property.set(row);
  return row;
}
template <class Set>
constexpr CallVariant operator|(CallVariant row, Property<Set> property) {
  property.set(row);
  return row;
}

inline constexpr FastPath replay_only = FastPath::replay;
inline constexpr FastPath unrecorded = FastPath::unrecorded;
inline constexpr FastPath always = FastPath::always;
inline constexpr DataForm buffer = DataForm::buffer;
inline constexpr DataForm vectors = DataForm::vectors;
inline constexpr DataForm message = DataForm::message;
inline constexpr DataForm messages = DataForm::messages;

constexpr auto fast(FastPath path) {
  return Property{[path](SyscallInfo& row) { row.properties.fast = path; }};
}
constexpr auto reads(DataForm form) {
  return Property{[form](SyscallInfo& row) { row.properties.reads = form; }};
}
// Bytes go to the file descriptor in an argument.
constexpr auto output_to(int16_t argument) {
  return Property{[argument](SyscallInfo& row) {
    row.properties.output_arg = argument;
    row.properties.changed_fd_arg = argument;
  }};
}
constexpr auto writes(DataForm form) {
  return Property{[form](SyscallInfo& row) {
    row.properties.writes = form;
    row.properties.descriptors = DescriptorEffect::keeps;
    row = row | output_to(0);
  }};
}
constexpr auto changes_file(int16_t argument) {
  return Property{[argument](SyscallInfo& row) { row.properties.changed_fd_arg = argument; }};
}
constexpr auto waits_for(int16_t event) {
  return Property{[event](SyscallInfo& row) { row.properties.waits_for = event; }};
}
constexpr auto timeout(int16_t argument, TimeUnit unit) {
  return Property{[argument, unit](SyscallInfo& row) {
    row.properties.timeout_arg = argument;
    row.properties.timeout_unit = unit;
  }};
}
constexpr auto waits_with_mask(int16_t argument) {
  return Property{[argument](SyscallInfo& row) { row.properties.mask_arg = argument; }};
}
// A path is the first string among the arguments; a directory may stand before it.
inline constexpr Property at_path{[](SyscallInfo& row) {
  for (uint8_t i = 0; i < row.arg_count; ++i) {
    if (row.args[i].kind != ArgKind::string) continue;
    row.properties.path_arg = static_cast<int16_t>(i);
    if (i > 0 && row.args[i - 1].kind == ArgKind::dir_fd)
      row.properties.directory_arg = static_cast<int16_t>(i - 1);
    return;
  }
}};
inline constexpr Property looks_up{[](SyscallInfo& row) {
  row = row | at_path;
  row.properties.looks_up = true;
}};
inline constexpr Property truncates{[](SyscallInfo& row) {
  row = row | at_path;
  row.properties.truncates = true;
}};
inline constexpr Property opens{[](SyscallInfo& row) {
  row = row | looks_up | truncates;
  row.properties.opens = true;
}};
inline constexpr Property keeps_descriptors{
    [](SyscallInfo& row) { row.properties.descriptors = DescriptorEffect::keeps; }};
inline constexpr Property moves_descriptors{
    [](SyscallInfo& row) { row.properties.descriptors = DescriptorEffect::moves; }};
constexpr auto mapping(MappingChange change) {
  return Property{[change](SyscallInfo& row) { row.properties.mapping = change; }};
}
constexpr auto at_position(FilePosition position) {
  return Property{[position](SyscallInfo& row) { row.properties.position = position; }};
}
inline constexpr Property sends_signal{[](SyscallInfo& row) { row.properties.sends_signal = true; }};
inline constexpr Property writes_to_disk{[](SyscallInfo& row) { row.properties.writes_to_disk = true; }};
inline constexpr Property internal{[](SyscallInfo& row) { row.properties.is_internal = true; }};
inline constexpr Property harmless{[](SyscallInfo& row) { row.properties.is_harmless = true; }};
inline constexpr Property harmless_variant{[](CallVariant& row) { row.is_harmless = true; }};

constexpr CallVariant variant(uint64_t selector, const char* name, ArgSpec arg = none,
                              CallClass call_class = emulated, Blocking blocking = never) {
  return {selector, name, call_class, blocking, arg};
}
constexpr CallVariant refused_variant(uint64_t selector, const char* name, int error, const char* reason) {
  return {selector, name, CallClass::refused, Blocking::never, hex, error, reason};
}

} // namespace rdb::spec
