// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names that people see for the kinds of things in a trace.
#include "rdbtool/trace/format/input.h"

namespace rdb::trace {

const char* name_of(InputKind kind) {
  switch (kind) {
  case InputKind::start:
    return "start";
  case InputKind::syscall:
    return "syscall";
  case InputKind::signal:
    return "signal";
  case InputKind::instruction:
    return "instruction";
  case InputKind::memory:
    return "memory";
  case InputKind::map:
    return "map";
  case InputKind::checksum:
    return "checksum";
  case InputKind::output:
    return "output";
  case InputKind::thread_start:
    return "thread-start";
  case InputKind::thread_end:
    return "thread-end";
  case InputKind::exit:
    return "exit";
  case InputKind::partial:
    return "partial";
  }
  return "unknown";
}

const char* name_of(InstructionOp op) {
  switch (op) {
  case InstructionOp::rdtsc:
    return "rdtsc";
  case InstructionOp::rdtscp:
    return "rdtscp";
  case InstructionOp::rdpid:
    return "rdpid";
  case InstructionOp::cpuid:
    return "cpuid";
  case InstructionOp::rdrand:
    return "rdrand";
  case InstructionOp::rdseed:
    return "rdseed";
  case InstructionOp::xgetbv:
    return "xgetbv";
  case InstructionOp::rdpmc:
    return "rdpmc";
  case InstructionOp::rdpru:
    return "rdpru";
  case InstructionOp::other:
    return "other";
  }
  return "unknown";
}

const char* name_of(MapOp op) {
  switch (op) {
  case MapOp::map:
    return "map";
  case MapOp::unmap:
    return "unmap";
  case MapOp::protect:
    return "protect";
  case MapOp::remap:
    return "remap";
  case MapOp::advise:
    return "advise";
  case MapOp::program_break:
    return "break";
  case MapOp::share:
    return "share";
  case MapOp::view:
    return "view";
  }
  return "unknown";
}

const char* name_of(ProcessOrigin origin) {
  switch (origin) {
  case ProcessOrigin::spawned:
    return "spawned";
  case ProcessOrigin::forked:
    return "forked";
  case ProcessOrigin::execed:
    return "execed";
  }
  return "unknown";
}

} // namespace rdb::trace
