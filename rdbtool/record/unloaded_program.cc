// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/unloaded_program.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/process/elf_image.h"
#include "rdbtool/record/log_check.h"

#include <climits>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

ThreadId only_thread() {
  return ThreadId(static_cast<int32_t>(raw_syscall(SYS_gettid)));
}

void log_start(trace::LogProducer& log, const guest::ProcessOptions& program,
               const RecorderOptions& recording) {
  guest::Program file;
  guest::resolve_program(program.path, program.argv, file);
  char real[PATH_MAX];
  std::string name = guest::shown_name(realpath(file.path.c_str(), real) != nullptr ? real : file.path);
  trace::StartInput start;
  start.origin = recording.origin;
  start.parent_time = recording.origin_time;
  start.pid = getpid();
  start.parent_pid = getppid();
  start.program = name;
  check(log.append(only_thread(), Time(0), start));
}

} // namespace

void log_killed_at_start(trace::LogProducer& log, const guest::ProcessOptions& program,
                         const RecorderOptions& recording, const guest::Ending& ending) {
  log_start(log, program, recording);
  trace::ExitInput exit;
  exit.by_signal = ending.kind == guest::Ending::Kind::signalled;
  exit.status = ending.value;
  check(log.append(only_thread(), Time(0), exit));
  check(log.drain());
}

void log_not_loaded(trace::LogProducer& log, const guest::ProcessOptions& program,
                    const RecorderOptions& recording, const std::string& why) {
  log_start(log, program, recording);
  log.give_up(why.c_str());
  check(log.drain());
}

} // namespace rdb::record
