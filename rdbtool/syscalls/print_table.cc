// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table for people: one line per call with what becomes of it, its variants indented below it.
#include "rdbtool/syscalls/table.h"
#include "rdbtool/syscalls/value_names.h"

#include <fmt/format.h>
#include <iterator>

namespace rdb {
namespace {

struct ArgText {
  ArgKind kind;
  const char* text; // {0}: the size of an element, {1}: the number of the argument that counts them
};

// In the order of ArgKind.
constexpr ArgText kArgTexts[] = {
    {ArgKind::none, "-"},
    {ArgKind::integer, "int"},
    {ArgKind::uint, "int"},
    {ArgKind::long_integer, "int"},
    {ArgKind::size, "size"},
    {ArgKind::hex, "flags"},
    {ArgKind::octal, "mode"},
    {ArgKind::fd, "fd"},
    {ArgKind::dir_fd, "fd"},
    {ArgKind::signal, "signal"},
    {ArgKind::flags, "flags"},
    {ArgKind::choice, "int"},
    {ArgKind::address, "addr"},
    {ArgKind::string, "string"},
    {ArgKind::string_list, "strings"},
    {ArgKind::in, "in:{0}"},
    {ArgKind::in_bytes, "in[arg{1}]"},
    {ArgKind::in_text, "in[arg{1}]"},
    {ArgKind::iovec_in, "in:iovec[arg{1}]"},
    {ArgKind::msghdr_in, "in:msghdr"},
    {ArgKind::out, "out:{0}"},
    {ArgKind::out_if_positive, "out:{0}"},
    {ArgKind::out_result, "out:result[arg{1}]"},
    {ArgKind::out_records, "out:result[arg{1}]"},
    {ArgKind::out_text, "out:result[arg{1}]"},
    {ArgKind::iovec_out, "out:iovec[arg{1}]"},
    {ArgKind::update, "inout:{0}"},
    {ArgKind::update_exact, "inout:{0}"},
    {ArgKind::update_array, "inout:{0}[arg{1}]"},
    {ArgKind::update_bits, "inout:bits[arg{1}]"},
    {ArgKind::update_pages, "out:pages[arg{1}]"},
    {ArgKind::update_message, "out:message[arg{1}]"},
    {ArgKind::update_sized, "inout:sized"},
    {ArgKind::update_by_length, "out:*arg{1}"},
    {ArgKind::sockaddr, "out:name:*arg{1}"},
    {ArgKind::msghdr, "out:msghdr"},
    {ArgKind::mmsghdr, "out:mmsghdr[arg{1}]"},
    {ArgKind::fiemap, "inout:fiemap"},
    {ArgKind::dedupe_range, "inout:dedupe"},
    {ArgKind::xattr_args, "out:xattr"},
    {ArgKind::ifconf, "out:ifconf"},
    {ArgKind::by_variant, "by request"},
};

constexpr bool has_every_kind() {
  for (size_t i = 0; i < std::size(kArgTexts); ++i)
    if (kArgTexts[i].kind != static_cast<ArgKind>(i)) return false;
  return std::size(kArgTexts) == static_cast<size_t>(ArgKind::by_variant) + 1;
}
static_assert(has_every_kind());

std::string arg_text(const ArgSpec& spec) {
  const char* text = kArgTexts[static_cast<size_t>(spec.kind)].text;
  return fmt::format(fmt::runtime(text), spec.size, spec.count_arg + 1);
}

std::string refusal(int error, const char* reason) {
  return fmt::format("{}: {}", errno_name(error), reason);
}

std::string signature(const SyscallInfo& info) {
  std::string text;
  for (unsigned i = 0; i < info.arg_count; ++i)
    text += (i == 0 ? "" : ", ") + arg_text(info.args[i]);
  return text;
}

const char* text_of(Blocking blocking) {
  return blocking == Blocking::may ? "may" : "never";
}

} // namespace

void print_syscall_table(std::FILE* out) {
  fmt::print(out, "{:>4} {:<28} {:<9} {:<6} {}\n", "nr", "call", "class", "blocks",
             "arguments, or why refused");
  for (const SyscallInfo& info : syscall_table()) {
    bool refused = info.call_class == CallClass::refused;
    fmt::print(out, "{:>4} {:<28} {:<9} {:<6} {}\n", info.number, info.name, name_of(info.call_class),
               refused ? "-" : text_of(info.blocking),
               refused ? refusal(info.error, info.reason) : signature(info));
    if (info.variants == nullptr) continue;
    for (const CallVariant& variant : info.variants->variants) {
      bool variant_refused = variant.call_class == CallClass::refused;
      fmt::print(out, "{:>4}   {:<26} {:<9} {:<6} {}\n", "", variant.name, name_of(variant.call_class),
                 variant_refused ? "-" : text_of(variant.blocking),
                 variant_refused ? refusal(variant.error, variant.reason) : arg_text(variant.arg));
    }
    switch (info.variants->unmatched) {
    case Unmatched::as_row:
      break;
    case Unmatched::refuse:
      fmt::print(out, "{:>4}   {:<26} {:<9} {:<6} {}\n", "", "any other", "refused", "-",
                 errno_name(info.variants->unmatched_error));
      break;
    case Unmatched::by_ioctl:
      fmt::print(out, "{:>4}   {:<26} {:<9} {:<6} {}\n", "", "any other well-formed", "emulated", "may",
                 "as its direction and size say");
      break;
    }
  }
}

} // namespace rdb
