// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kinds of number that must not be mixed up: guest addresses, times, thread ids.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rdb {

// An integer with a meaning. Arithmetic with plain offsets is allowed; mixing two meanings is not.
template <class Tag, class Rep>
struct Strong {
  Rep value{};

  constexpr Strong() = default;
  explicit constexpr Strong(Rep v) : value(v) {}

  constexpr auto operator<=>(const Strong&) const = default;
  constexpr Strong operator+(Rep n) const { return Strong(static_cast<Rep>(value + n)); }
  constexpr Strong operator-(Rep n) const { return Strong(static_cast<Rep>(value - n)); }
  constexpr Rep operator-(Strong other) const { return static_cast<Rep>(value - other.value); }
  constexpr Strong& operator+=(Rep n) {
    value = static_cast<Rep>(value + n);
    return *this;
  }
  constexpr Strong& operator-=(Rep n) {
    value = static_cast<Rep>(value - n);
    return *this;
  }
};

// An address as the guest sees it. Guest and host share one address space, so it can be dereferenced
// by host code that has made sure the page is there; ptr() marks the places that do.
struct GuestAddr : Strong<struct GuestAddrTag, uint64_t> {
  using Strong::Strong;
  constexpr GuestAddr(Strong s) : Strong(s) {}
  template <class T = void>
  T* ptr() const {
    return reinterpret_cast<T*>(value);
  }
};

// Guest instructions executed so far by all threads, in the recorded total order.
struct Time : Strong<struct TimeTag, uint64_t> {
  using Strong::Strong;
  constexpr Time(Strong s) : Strong(s) {}
};

// A position in a recording: inputs that share a time are told apart by their ordinal.
struct Position {
  Time time;
  uint32_t ordinal = 0;
  constexpr auto operator<=>(const Position&) const = default;
};

// A guest thread, by the id the guest saw (gettid).
struct ThreadId : Strong<struct ThreadIdTag, int32_t> {
  using Strong::Strong;
  constexpr ThreadId(Strong s) : Strong(s) {}
};

} // namespace rdb

template <class Tag, class Rep>
struct std::hash<rdb::Strong<Tag, Rep>> {
  size_t operator()(rdb::Strong<Tag, Rep> s) const { return std::hash<Rep>{}(s.value); }
};
template <>
struct std::hash<rdb::GuestAddr> {
  size_t operator()(rdb::GuestAddr s) const { return std::hash<uint64_t>{}(s.value); }
};
