// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/escape.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/engine/translator.h"

#include <cstdio>
#include <exception>
#include <stdio_ext.h>
#include <ucontext.h>
#include <unistd.h>

namespace rdb::debug {

void LastEscape::set_reason(std::string_view text) {
  reason[text.copy(reason, sizeof reason - 1)] = '\0';
}

bool can_escape() {
  return DebugSession::run.escape != nullptr;
}

void give_up(std::string_view reason, void* context) {
  DebugSession& session = *DebugSession::current();
  if (can_escape() && DebugSession::run.fast != nullptr && context != nullptr)
    DebugSession::run.fast->leave_fast_hook(context);
  ucontext_t here;
  if (context == nullptr) {
    getcontext(&here);
    context = &here;
  }
  give_up_from(capture_stack(context, session.escape_stack), reason);
}

void give_up_from(const CapturedStack& stack, std::string_view reason) {
  DebugSession& session = *DebugSession::current();
  EscapePoint* escape = DebugSession::run.escape;
  if (escape == nullptr) {
    // A constructor of the module: there is no region to go back to.
    print_error("rdb: {} (outside of any region)\n", reason);
    session.end_loading();
    std::fflush(nullptr);
    _exit(kExitFailure);
  }
  if (__fpending(stdout) != 0) fflush_unlocked(stdout);
  escape->taken = true;
  session.last_escape.set_reason(reason);
  session.last_escape.stack = stack;
  __builtin_longjmp(escape->jump_buffer, 1);
}

std::string describe_exception(std::string_view words) {
  try {
    throw;
  } catch (const std::exception& thrown) {
    return fmt::format("{}: {}", words, thrown.what());
  } catch (...) {
    return std::string(words);
  }
}

} // namespace rdb::debug
