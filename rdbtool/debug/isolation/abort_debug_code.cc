// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/abort_debug_code.h"

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

void LastAbort::set_reason(std::string_view text) {
  reason[text.copy(reason, sizeof reason - 1)] = '\0';
}

bool can_abort_debug_code() {
  return DebugSession::run.abort_point != nullptr;
}

void abort_debug_code(std::string_view reason, void* context) {
  DebugSession& session = *DebugSession::current();
  if (can_abort_debug_code() && DebugSession::run.fast != nullptr && context != nullptr)
    DebugSession::run.fast->leave_fast_hook(context);
  ucontext_t here;
  if (context == nullptr) {
    getcontext(&here);
    context = &here;
  }
  abort_debug_code_from(capture_stack(context, session.abort_stack), reason);
}

void abort_debug_code_from(const CapturedStack& stack, std::string_view reason) {
  DebugSession& session = *DebugSession::current();
  AbortPoint* abort_point = DebugSession::run.abort_point;
  if (abort_point == nullptr) {
    // A constructor of the module: there is no region to go back to.
    print_error("rdb: {} (outside of any region)\n", reason);
    session.end_loading();
    std::fflush(nullptr);
    _exit(kExitFailure);
  }
  if (__fpending(stdout) != 0) fflush_unlocked(stdout);
  abort_point->taken = true;
  session.last_abort.set_reason(reason);
  session.last_abort.stack = stack;
  __builtin_longjmp(abort_point->jump_buffer, 1);
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
