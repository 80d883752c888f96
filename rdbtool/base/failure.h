// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trouble on its way from one process to another. An exception does not cross a process boundary, and its
// text alone does not say whose mistake it was: so its kind travels with the text, and it is thrown again on
// the other side as what it was.
#pragma once

#include "rdbtool/base/error.h"

#include <cstdint>
#include <exception>
#include <string>

namespace rdb {

struct Failure {
  // As in error.h; `system` is what is none of the three.
  enum class Kind : uint8_t { user, limit, bug, system };

  Kind kind = Kind::system;
  std::string text;

  static Failure of(const std::exception& error) {
    Kind kind = dynamic_cast<const UserError*>(&error) != nullptr ? Kind::user
                : dynamic_cast<const Limit*>(&error) != nullptr   ? Kind::limit
                : dynamic_cast<const Bug*>(&error) != nullptr     ? Kind::bug
                                                                  : Kind::system;
    return {kind, error.what()};
  }

  [[noreturn]] void raise() const {
    switch (kind) {
    case Kind::user:
      throw UserError(text);
    case Kind::limit:
      throw Limit(text);
    case Kind::bug:
      throw Bug(text);
    case Kind::system:
      break;
    }
    throw std::runtime_error(text);
  }

  int exit_status() const { return kind == Kind::user ? kExitUsage : kExitFailure; }
};

} // namespace rdb
