// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The names that people see for the kinds of things in a trace.
#include "rdbtool/trace/input.h"

namespace rdb::trace {

const char* name_of(InputKind kind) {
  switch (kind) {
  case InputKind::kStart:
    return "start";
  case InputKind::kSyscall:
    return "syscall";
  case InputKind::kSignal:
    return "signal";
  case InputKind::kInstruction:
    return "instruction";
  case InputKind::kMemory:
    return "memory";
  case InputKind::kMap:
    return "map";
  case InputKind::kChecksum:
    return "checksum";
  case InputKind::kOutput:
    return "output";
  case InputKind::kThreadStart:
    return "thread-start";
  case InputKind::kThreadEnd:
    return "thread-end";
  case InputKind::kExit:
    return "exit";
  case InputKind::kPartial:
    return "partial";
  }
  return "unknown";
}

const char* name_of(InstructionOp op) {
  switch (op) {
  case InstructionOp::kRdtsc:
    return "rdtsc";
  case InstructionOp::kRdtscp:
    return "rdtscp";
  case InstructionOp::kRdpid:
    return "rdpid";
  case InstructionOp::kCpuid:
    return "cpuid";
  case InstructionOp::kRdrand:
    return "rdrand";
  case InstructionOp::kRdseed:
    return "rdseed";
  case InstructionOp::kXgetbv:
    return "xgetbv";
  case InstructionOp::kRdpmc:
    return "rdpmc";
  case InstructionOp::kRdpru:
    return "rdpru";
  case InstructionOp::kOther:
    return "other";
  }
  return "unknown";
}

const char* name_of(MapOp op) {
  switch (op) {
  case MapOp::kMap:
    return "map";
  case MapOp::kUnmap:
    return "unmap";
  case MapOp::kProtect:
    return "protect";
  case MapOp::kRemap:
    return "remap";
  case MapOp::kAdvise:
    return "advise";
  case MapOp::kBreak:
    return "break";
  }
  return "unknown";
}

const char* name_of(ProcessOrigin origin) {
  switch (origin) {
  case ProcessOrigin::kSpawned:
    return "spawned";
  case ProcessOrigin::kForked:
    return "forked";
  case ProcessOrigin::kExeced:
    return "execed";
  }
  return "unknown";
}

} // namespace rdb::trace
