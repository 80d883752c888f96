// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table for people: one line per call with what becomes of it, its variants indented below it.
#include "rdbtool/syscalls/table.h"
#include "rdbtool/syscalls/value_names.h"

#include <fmt/format.h>

namespace rdb {
namespace {

std::string arg_text(const ArgSpec& spec) {
  auto counted = [&](const char* text) { return fmt::format("{}[arg{}]", text, spec.count_arg + 1); };
  switch (spec.kind) {
  case ArgKind::none:
    return "-";
  case ArgKind::integer:
  case ArgKind::uint:
  case ArgKind::long_integer:
  case ArgKind::choice:
    return "int";
  case ArgKind::size:
    return "size";
  case ArgKind::hex:
  case ArgKind::flags:
    return "flags";
  case ArgKind::octal:
    return "mode";
  case ArgKind::fd:
  case ArgKind::dir_fd:
    return "fd";
  case ArgKind::signal:
    return "signal";
  case ArgKind::address:
    return "addr";
  case ArgKind::string:
    return "string";
  case ArgKind::string_list:
    return "strings";
  case ArgKind::in:
    return fmt::format("in:{}", spec.size);
  case ArgKind::in_bytes:
  case ArgKind::in_text:
    return counted("in");
  case ArgKind::iovec_in:
    return counted("in:iovec");
  case ArgKind::msghdr_in:
    return "in:msghdr";
  case ArgKind::out:
  case ArgKind::out_if_positive:
    return fmt::format("out:{}", spec.size);
  case ArgKind::out_result:
  case ArgKind::out_records:
  case ArgKind::out_text:
    return counted("out:result");
  case ArgKind::iovec_out:
    return counted("out:iovec");
  case ArgKind::update:
  case ArgKind::update_exact:
    return fmt::format("inout:{}", spec.size);
  case ArgKind::update_array:
    return counted(fmt::format("inout:{}", spec.size).c_str());
  case ArgKind::update_bits:
    return counted("inout:bits");
  case ArgKind::update_pages:
    return counted("out:pages");
  case ArgKind::update_message:
    return counted("out:message");
  case ArgKind::update_sized:
    return "inout:sized";
  case ArgKind::update_by_length:
    return fmt::format("out:*arg{}", spec.count_arg + 1);
  case ArgKind::sockaddr:
    return fmt::format("out:name:*arg{}", spec.count_arg + 1);
  case ArgKind::msghdr:
    return "out:msghdr";
  case ArgKind::mmsghdr:
    return counted("out:mmsghdr");
  case ArgKind::fiemap:
    return "inout:fiemap";
  case ArgKind::dedupe_range:
    return "inout:dedupe";
  case ArgKind::xattr_args:
    return "out:xattr";
  case ArgKind::ifconf:
    return "out:ifconf";
  case ArgKind::by_variant:
    return "by request";
  }
  return "?";
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
