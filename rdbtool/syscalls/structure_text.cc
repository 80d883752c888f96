// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One function per shape. Everything is copied out of guest memory first and bounded in length.
#include "rdbtool/syscalls/structure_text.h"

#include "rdbtool/syscalls/value_names.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <vector>

namespace rdb {
namespace {

constexpr size_t kMostText = 32;
constexpr size_t kMostPath = 256;
constexpr size_t kMostElements = 8;
constexpr size_t kMostBits = 4096;
constexpr size_t kMostBitText = 120;

std::string quoted(std::string_view bytes, bool cut) {
  std::string text = "\"";
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto c = static_cast<unsigned char>(bytes[i]);
    switch (c) {
    case '\n':
      text += "\\n";
      continue;
    case '\t':
      text += "\\t";
      continue;
    case '\r':
      text += "\\r";
      continue;
    case '"':
      text += "\\\"";
      continue;
    case '\\':
      text += "\\\\";
      continue;
    default:
      break;
    }
    if (c >= 0x20 && c < 0x7f) {
      text += static_cast<char>(c);
      continue;
    }
    // All three digits where a digit follows, or it would be read as part of the number.
    bool digit_follows = i + 1 < bytes.size() && bytes[i + 1] >= '0' && bytes[i + 1] <= '9';
    text += digit_follows ? fmt::format("\\{:03o}", c) : fmt::format("\\{:o}", c);
  }
  text += cut ? "\"..." : "\"";
  return text;
}

template <class T>
std::optional<T> fetch(const AccessibleMemory& memory, uint64_t pointer) {
  T value{};
  if (memory.read(GuestAddr(pointer), &value, sizeof value) < sizeof value) return std::nullopt;
  return value;
}

// [a, b, c] of what `show` makes of each element; nothing if one cannot be read.
template <class T, class Show>
std::optional<std::string> list_of(const AccessibleMemory& memory, uint64_t pointer, uint64_t elements,
                                   Show show) {
  std::string text = "[";
  for (uint64_t i = 0; i < elements; ++i) {
    if (i != 0) text += ", ";
    if (i == kMostElements) return text + "...]";
    std::optional<T> item = fetch<T>(memory, pointer + i * sizeof(T));
    if (!item) return std::nullopt;
    text += show(*item);
  }
  return text + "]";
}

std::string event_names(unsigned events) {
  constexpr std::pair<unsigned, const char*> kNames[] = {
      {POLLIN, "POLLIN"},    {POLLPRI, "POLLPRI"},           {POLLOUT, "POLLOUT"},
      {POLLERR, "POLLERR"},  {POLLHUP, "POLLHUP"},           {POLLNVAL, "POLLNVAL"},
      {0x2000, "POLLRDHUP"}, {EPOLLONESHOT, "EPOLLONESHOT"}, {EPOLLET, "EPOLLET"},
  };
  std::string text;
  for (auto [bit, name] : kNames) {
    if ((events & bit) == 0) continue;
    text += text.empty() ? name : std::string("|") + name;
    events &= ~bit;
  }
  if (events != 0) text += fmt::format("{}{:#x}", text.empty() ? "" : "|", events);
  return text.empty() ? "0" : text;
}

std::optional<std::string> pollfds(const AccessibleMemory& memory, uint64_t pointer, uint64_t elements) {
  return list_of<pollfd>(memory, pointer, elements, [](const pollfd& item) {
    std::string text =
        fmt::format("{{fd={}, events={}", int{item.fd}, event_names(static_cast<uint16_t>(item.events)));
    if (item.revents != 0) text += ", revents=" + event_names(static_cast<uint16_t>(item.revents));
    return text + "}";
  });
}

std::optional<std::string> epoll_events(const AccessibleMemory& memory, uint64_t pointer, uint64_t elements) {
  return list_of<epoll_event>(memory, pointer, elements, [](const epoll_event& item) {
    return fmt::format("{{events={}, data={:#x}}}", event_names(item.events), uint64_t{item.data.u64});
  });
}

std::optional<std::string> bit_set(const AccessibleMemory& memory, uint64_t pointer, uint64_t bits) {
  bits = std::min<uint64_t>(bits, kMostBits);
  std::array<uint8_t, kMostBits / 8> bytes{};
  size_t size = (bits + 7) / 8;
  if (memory.read(GuestAddr(pointer), bytes.data(), size) < size) return std::nullopt;
  std::string text = "[";
  for (uint64_t bit = 0; bit < bits; ++bit) {
    if ((bytes[bit / 8] >> bit % 8 & 1) == 0) continue;
    if (text.size() > kMostBitText) return text + " ...]";
    text += fmt::format("{}{}", text.size() > 1 ? " " : "", bit);
  }
  return text + "]";
}

std::optional<std::string> signal_set(const AccessibleMemory& memory, uint64_t pointer) {
  std::optional<uint64_t> set = fetch<uint64_t>(memory, pointer);
  if (!set) return std::nullopt;
  if (*set == ~uint64_t{0}) return "~[]";
  std::string text = "[";
  for (int signal = 1; signal <= 64; ++signal) {
    if ((*set >> (signal - 1) & 1) == 0) continue;
    if (text.size() > 1) text += ' ';
    text += signal_name(signal).substr(3);
  }
  return text + "]";
}

std::optional<std::string> socket_name(const AccessibleMemory& memory, uint64_t pointer, uint64_t size) {
  std::array<char, sizeof(sockaddr_un)> bytes{};
  size = std::min<uint64_t>(size, bytes.size());
  if (memory.read(GuestAddr(pointer), bytes.data(), size) < size || size < sizeof(sa_family_t))
    return std::nullopt;
  sa_family_t family;
  std::memcpy(&family, bytes.data(), sizeof family);
  char host[INET6_ADDRSTRLEN] = "";
  if (family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in name;
    std::memcpy(&name, bytes.data(), sizeof name);
    inet_ntop(AF_INET, &name.sin_addr, host, sizeof host);
    return fmt::format("{{AF_INET, {}:{}}}", host, ntohs(name.sin_port));
  }
  if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 name;
    std::memcpy(&name, bytes.data(), sizeof name);
    inet_ntop(AF_INET6, &name.sin6_addr, host, sizeof host);
    return fmt::format("{{AF_INET6, [{}]:{}}}", host, ntohs(name.sin6_port));
  }
  if (family == AF_UNIX) {
    std::string_view path(bytes.data() + sizeof family, size - sizeof family);
    bool abstract = !path.empty() && path.front() == '\0';
    if (abstract) return fmt::format("{{AF_UNIX, @{}}}", quoted(path.substr(1), false));
    return fmt::format("{{AF_UNIX, {}}}", quoted(path.substr(0, path.find('\0')), false));
  }
  return fmt::format("{{{}, {} bytes}}", choice_name(NameSet::socket_domain, family), size);
}

std::string file_kind(uint32_t mode) {
  switch (mode & S_IFMT) {
  case S_IFREG:
    return "S_IFREG";
  case S_IFDIR:
    return "S_IFDIR";
  case S_IFLNK:
    return "S_IFLNK";
  case S_IFCHR:
    return "S_IFCHR";
  case S_IFBLK:
    return "S_IFBLK";
  case S_IFIFO:
    return "S_IFIFO";
  case S_IFSOCK:
    return "S_IFSOCK";
  default:
    return "0";
  }
}

std::optional<std::string> file_status(const AccessibleMemory& memory, uint64_t pointer, size_t size) {
  uint32_t mode;
  uint64_t length;
  if (size == sizeof(struct stat)) {
    std::optional<struct stat> status = fetch<struct stat>(memory, pointer);
    if (!status) return std::nullopt;
    mode = status->st_mode;
    length = static_cast<uint64_t>(status->st_size);
  } else {
    std::optional<struct statx> status = fetch<struct statx>(memory, pointer);
    if (!status) return std::nullopt;
    mode = status->stx_mode;
    length = status->stx_size;
  }
  return fmt::format("{{mode={}|{:04o}, size={}}}", file_kind(mode), mode & 07777, length);
}

std::string wait_status(int status) {
  if (WIFEXITED(status)) return fmt::format("[{{exited {}}}]", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) return fmt::format("[{{killed by {}}}]", signal_name(WTERMSIG(status)));
  if (WIFSTOPPED(status)) return fmt::format("[{{stopped by {}}}]", signal_name(WSTOPSIG(status)));
  return WIFCONTINUED(status) ? "[{continued}]" : fmt::format("[{:#x}]", status);
}

} // namespace

std::string bytes_text(const AccessibleMemory& memory, uint64_t pointer, uint64_t size) {
  std::array<char, kMostText> bytes;
  size_t wanted = std::min<uint64_t>(size, bytes.size());
  size_t found = pointer == 0 ? 0 : memory.read(GuestAddr(pointer), bytes.data(), wanted);
  if (found < wanted) return pointer == 0 ? "NULL" : fmt::format("{:#x}", pointer);
  return quoted({bytes.data(), found}, found < size);
}

std::string c_string_text(const AccessibleMemory& memory, uint64_t pointer) {
  if (pointer == 0) return "NULL";
  std::array<char, kMostPath> bytes;
  size_t found = memory.read(GuestAddr(pointer), bytes.data(), bytes.size());
  std::string_view text(bytes.data(), found);
  size_t end = text.find('\0');
  if (end == text.npos && found < bytes.size()) return fmt::format("{:#x}", pointer);
  return quoted(text.substr(0, end), end == text.npos);
}

std::optional<std::string> structure_text(const AccessibleMemory& memory, const ArgSpec& spec,
                                          uint64_t pointer, uint64_t elements) {
  uint64_t bytes;
  if (__builtin_mul_overflow(elements, spec.size, &bytes)) return std::nullopt;
  switch (spec.shape) {
  case Shape::bytes:
    return bytes_text(memory, pointer, bytes);
  case Shape::words32:
    return list_of<int32_t>(memory, pointer, bytes / 4, [](int32_t word) { return std::to_string(word); });
  case Shape::words64:
    return list_of<int64_t>(memory, pointer, bytes / 8, [](int64_t word) { return std::to_string(word); });
  case Shape::hex64:
    return list_of<uint64_t>(memory, pointer, bytes / 8,
                             [](uint64_t word) { return fmt::format("{:#x}", word); });
  case Shape::timespec: {
    std::optional<timespec> time = fetch<timespec>(memory, pointer);
    if (!time) return std::nullopt;
    return fmt::format("{{tv_sec={}, tv_nsec={}}}", time->tv_sec, time->tv_nsec);
  }
  case Shape::timeval: {
    std::optional<timeval> time = fetch<timeval>(memory, pointer);
    if (!time) return std::nullopt;
    return fmt::format("{{tv_sec={}, tv_usec={}}}", time->tv_sec, time->tv_usec);
  }
  case Shape::pollfds:
    return pollfds(memory, pointer, elements);
  case Shape::epoll_events:
    return epoll_events(memory, pointer, elements);
  case Shape::fd_bits:
    return bit_set(memory, pointer, elements);
  case Shape::socket_name:
    return socket_name(memory, pointer, elements);
  case Shape::signal_set:
    return signal_set(memory, pointer);
  case Shape::wait_status: {
    std::optional<int> status = fetch<int>(memory, pointer);
    if (!status) return std::nullopt;
    return wait_status(*status);
  }
  case Shape::file_status:
    return file_status(memory, pointer, spec.size);
  case Shape::opaque:
    return std::nullopt;
  }
  return std::nullopt;
}

} // namespace rdb
