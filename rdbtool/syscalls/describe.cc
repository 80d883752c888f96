// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Renders the arguments of a system call by their kinds and the structures behind them by their shapes.
#include "rdbtool/syscalls/describe.h"

#include "rdbtool/syscalls/structure_text.h"
#include "rdbtool/syscalls/value_names.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace rdb {
namespace {

constexpr size_t kMostElements = 8;
constexpr uint64_t kMostVectors = 1024;

class Description {
public:
  Description(const CallShape& shape, const SyscallArgs& args, std::optional<int64_t> result,
              const AccessibleMemory& memory)
      : shape_(shape), args_(args), result_(result), memory_(memory) {}

  std::string line() const {
    std::string text = fmt::format("{}(", shape_.info->name);
    for (unsigned i = 0; i < shape_.info->arg_count && is_shown(i); ++i) {
      if (i != 0) text += ", ";
      text += argument(i);
    }
    text += ')';
    if (result_) text += " = " + result_text();
    return text;
  }

private:
  bool succeeded() const { return result_ && !(*result_ < 0 && *result_ >= -4095); }

  bool is_shown(unsigned index) const {
    if (shape_.arg(index).kind == ArgKind::none) return false;
    // The mode of open counts only if a file may be created.
    bool is_mode = index > 0 && shape_.arg(index).kind == ArgKind::octal &&
                   shape_.arg(index - 1).names == NameSet::open_flags;
    return !is_mode || (args_[index - 1] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0;
  }

  std::string result_text() const {
    if (!succeeded()) {
      int error = static_cast<int>(-*result_);
      const char* meaning = strerrordesc_np(error);
      return fmt::format("-1 {} ({})", errno_name(error), meaning != nullptr ? meaning : "?");
    }
    if (shape_.call_class == CallClass::memory && *result_ != 0) return fmt::format("{:#x}", *result_);
    return std::to_string(*result_);
  }

  std::string pointer_text(uint64_t pointer) const {
    return pointer == 0 ? "NULL" : fmt::format("{:#x}", pointer);
  }

  uint64_t count(const ArgSpec& spec) const {
    uint64_t value = args_[spec.count_arg];
    switch (shape_.info->args[spec.count_arg].kind) {
    case ArgKind::integer:
      return static_cast<uint64_t>(std::max<int32_t>(0, static_cast<int32_t>(value)));
    case ArgKind::uint:
      return static_cast<uint32_t>(value);
    default:
      return value;
    }
  }

  std::string argument(unsigned index) const {
    const VariantTable* variants = shape_.info->variants;
    if (variants != nullptr && variants->selector_arg == index && shape_.variant != nullptr)
      return shape_.variant->name;

    const ArgSpec& spec = shape_.arg(index);
    uint64_t value = args_[index];
    auto as_int = static_cast<int32_t>(value);
    switch (spec.kind) {
    case ArgKind::none:
      return "";
    case ArgKind::integer:
    case ArgKind::fd:
      return std::to_string(as_int);
    case ArgKind::uint:
      return std::to_string(static_cast<uint32_t>(value));
    case ArgKind::long_integer:
      return std::to_string(static_cast<int64_t>(value));
    case ArgKind::size:
      return std::to_string(value);
    case ArgKind::hex:
      return fmt::format("{:#x}", value);
    case ArgKind::octal:
      return value == 0 ? "0" : fmt::format("0{:o}", static_cast<uint32_t>(value));
    case ArgKind::dir_fd:
      return as_int == AT_FDCWD ? "AT_FDCWD" : std::to_string(as_int);
    case ArgKind::signal:
      return signal_name(as_int);
    case ArgKind::flags:
      return flag_names(spec.names, value);
    case ArgKind::choice:
      return choice_name(spec.names, value);
    case ArgKind::address:
      return pointer_text(value);
    case ArgKind::string:
      return c_string_text(memory_, value);
    case ArgKind::string_list:
      return string_list(value);
    default:
      break;
    }
    if (value == 0) return "NULL";
    if (is_output(spec.kind) && !result_) return pointer_text(value);
    return memory_argument(spec, value);
  }

  std::string memory_argument(const ArgSpec& spec, uint64_t pointer) const {
    uint64_t done = succeeded() ? static_cast<uint64_t>(*result_) : 0;
    switch (spec.kind) {
    case ArgKind::in_text:
      return bytes_text(memory_, pointer, count(spec));
    case ArgKind::in_bytes:
      return structure(spec, pointer, count(spec));
    case ArgKind::in:
    case ArgKind::update:
    case ArgKind::update_exact:
      return structure(spec, pointer, 1);
    case ArgKind::out:
      return succeeded() ? structure(spec, pointer, 1) : pointer_text(pointer);
    case ArgKind::out_if_positive:
      return done > 0 ? structure(spec, pointer, 1) : pointer_text(pointer);
    case ArgKind::out_text:
      return succeeded() ? bytes_text(memory_, pointer, std::min(done, count(spec))) : pointer_text(pointer);
    case ArgKind::out_result:
      return succeeded() ? structure(spec, pointer, std::min(done, count(spec))) : pointer_text(pointer);
    case ArgKind::update_array:
      return structure(spec, pointer, count(spec));
    case ArgKind::update_bits:
      return structure(spec, pointer, count(spec));
    case ArgKind::update_by_length:
    case ArgKind::sockaddr: {
      uint32_t length = 0;
      memory_.read(GuestAddr(args_[spec.count_arg]), &length, sizeof length);
      return succeeded() ? structure(spec, pointer, length) : pointer_text(pointer);
    }
    case ArgKind::iovec_in:
      return vectors(pointer, count(spec), UINT64_MAX);
    case ArgKind::iovec_out:
      return succeeded() ? vectors(pointer, count(spec), done) : pointer_text(pointer);
    case ArgKind::msghdr_in:
      return message(pointer, UINT64_MAX);
    case ArgKind::msghdr:
      return succeeded() ? message(pointer, done) : pointer_text(pointer);
    default:
      return pointer_text(pointer);
    }
  }

  std::string structure(const ArgSpec& spec, uint64_t pointer, uint64_t elements) const {
    return structure_text(memory_, spec, pointer, elements).value_or(pointer_text(pointer));
  }

  std::string string_list(uint64_t pointer) const {
    if (pointer == 0) return "NULL";
    std::string text = "[";
    for (size_t i = 0;; ++i) {
      uint64_t item = 0;
      if (memory_.read(GuestAddr(pointer + 8 * i), &item, sizeof item) < sizeof item)
        return i == 0 ? pointer_text(pointer) : text + ", ...]";
      if (item == 0) return text + "]";
      if (i != 0) text += ", ";
      if (i == kMostElements) return text + "...]";
      text += c_string_text(memory_, item);
    }
  }

  std::string vectors(uint64_t pointer, uint64_t number, uint64_t total) const {
    std::string text = "[";
    for (uint64_t i = 0; i < std::min(number, kMostVectors); ++i) {
      iovec vector{};
      if (memory_.read(GuestAddr(pointer + i * sizeof vector), &vector, sizeof vector) < sizeof vector)
        return pointer_text(pointer);
      if (i != 0) text += ", ";
      if (i == kMostElements) return text + "...]";
      uint64_t share = std::min<uint64_t>(total, vector.iov_len);
      total -= total == UINT64_MAX ? 0 : share;
      auto base = reinterpret_cast<uint64_t>(vector.iov_base);
      text += fmt::format("{{{}, {}}}", bytes_text(memory_, base, share), vector.iov_len);
    }
    return text + "]";
  }

  std::string message(uint64_t pointer, uint64_t total) const {
    msghdr header{};
    if (memory_.read(GuestAddr(pointer), &header, sizeof header) < sizeof header)
      return pointer_text(pointer);
    std::string text = "{";
    if (header.msg_name != nullptr && header.msg_namelen != 0) {
      ArgSpec name{ArgKind::sockaddr, NameSet::none, Shape::socket_name, 0, 1};
      text +=
          "name=" + structure(name, reinterpret_cast<uint64_t>(header.msg_name), header.msg_namelen) + ", ";
    }
    text += "iov=" + vectors(reinterpret_cast<uint64_t>(header.msg_iov), header.msg_iovlen, total);
    if (header.msg_controllen != 0) text += fmt::format(", controllen={}", header.msg_controllen);
    if (header.msg_flags != 0)
      text += ", flags=" + flag_names(NameSet::message_flags, static_cast<uint32_t>(header.msg_flags));
    return text + "}";
  }

  const CallShape& shape_;
  const SyscallArgs& args_;
  std::optional<int64_t> result_;
  const AccessibleMemory& memory_;
};

} // namespace

std::string describe_call(uint64_t number, const SyscallArgs& args, std::optional<int64_t> result,
                          const AccessibleMemory& memory) {
  const SyscallInfo* info = find_syscall(number);
  SyscallInfo unknown;
  std::string name = fmt::format("syscall_{}", number);
  if (info == nullptr) {
    unknown.name = name.c_str();
    unknown.arg_count = 6;
    unknown.args.fill({ArgKind::hex});
    info = &unknown;
  }
  return Description(shape_of(*info, args), args, result, memory).line();
}

} // namespace rdb
