// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table for people: one line per call with what becomes of it, its variants indented below it.
#include "rdbtool/guest/syscalls/table.h"
#include "rdbtool/guest/syscalls/value_names.h"

#include <fmt/format.h>

namespace rdb {
namespace {

std::string arg_text(const ArgSpec& spec) {
  auto counted = [&](const char* text) { return fmt::format("{}[arg{}]", text, spec.count_arg + 1); };
  switch (spec.kind) {
  case ArgKind::None:
    return "-";
  case ArgKind::Int:
  case ArgKind::Uint:
  case ArgKind::Long:
  case ArgKind::Choice:
    return "int";
  case ArgKind::Size:
    return "size";
  case ArgKind::Hex:
  case ArgKind::Flags:
    return "flags";
  case ArgKind::Octal:
    return "mode";
  case ArgKind::Fd:
  case ArgKind::DirFd:
    return "fd";
  case ArgKind::Signal:
    return "signal";
  case ArgKind::Address:
    return "addr";
  case ArgKind::String:
    return "string";
  case ArgKind::StringList:
    return "strings";
  case ArgKind::In:
    return fmt::format("in:{}", spec.size);
  case ArgKind::InBytes:
  case ArgKind::InText:
    return counted("in");
  case ArgKind::IovecIn:
    return counted("in:iovec");
  case ArgKind::MsghdrIn:
    return "in:msghdr";
  case ArgKind::Out:
  case ArgKind::OutIfPositive:
    return fmt::format("out:{}", spec.size);
  case ArgKind::OutResult:
  case ArgKind::OutRecords:
  case ArgKind::OutText:
    return counted("out:result");
  case ArgKind::IovecOut:
    return counted("out:iovec");
  case ArgKind::Update:
  case ArgKind::UpdateExact:
    return fmt::format("inout:{}", spec.size);
  case ArgKind::UpdateArray:
    return counted(fmt::format("inout:{}", spec.size).c_str());
  case ArgKind::UpdateBits:
    return counted("inout:bits");
  case ArgKind::UpdatePages:
    return counted("out:pages");
  case ArgKind::UpdateMessage:
    return counted("out:message");
  case ArgKind::UpdateSized:
    return "inout:sized";
  case ArgKind::UpdateByLength:
    return fmt::format("out:*arg{}", spec.count_arg + 1);
  case ArgKind::Sockaddr:
    return fmt::format("out:name:*arg{}", spec.count_arg + 1);
  case ArgKind::Msghdr:
    return "out:msghdr";
  case ArgKind::Mmsghdr:
    return counted("out:mmsghdr");
  case ArgKind::Fiemap:
    return "inout:fiemap";
  case ArgKind::DedupeRange:
    return "inout:dedupe";
  case ArgKind::XattrArgs:
    return "out:xattr";
  case ArgKind::Ifconf:
    return "out:ifconf";
  case ArgKind::ByVariant:
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
  return blocking == Blocking::May ? "may" : "never";
}

} // namespace

void print_syscall_table(std::FILE* out) {
  fmt::print(out, "{:>4} {:<28} {:<9} {:<6} {}\n", "nr", "call", "class", "blocks",
             "arguments, or why refused");
  for (const SyscallInfo& info : syscall_table()) {
    bool refused = info.call_class == CallClass::Refused;
    fmt::print(out, "{:>4} {:<28} {:<9} {:<6} {}\n", info.number, info.name, name_of(info.call_class),
               refused ? "-" : text_of(info.blocking),
               refused ? refusal(info.error, info.reason) : signature(info));
    if (info.variants == nullptr) continue;
    for (const CallVariant& variant : info.variants->variants) {
      bool variant_refused = variant.call_class == CallClass::Refused;
      fmt::print(out, "{:>4}   {:<26} {:<9} {:<6} {}\n", "", variant.name, name_of(variant.call_class),
                 variant_refused ? "-" : text_of(variant.blocking),
                 variant_refused ? refusal(variant.error, variant.reason) : arg_text(variant.arg));
    }
    switch (info.variants->unmatched) {
    case Unmatched::AsRow:
      break;
    case Unmatched::Refuse:
      fmt::print(out, "{:>4}   {:<26} {:<9} {:<6} {}\n", "", "any other", "refused", "-",
                 errno_name(info.variants->unmatched_error));
      break;
    case Unmatched::ByIoctl:
      fmt::print(out, "{:>4}   {:<26} {:<9} {:<6} {}\n", "", "any other well-formed", "emulated", "may",
                 "as its direction and size say");
      break;
    }
  }
}

} // namespace rdb
