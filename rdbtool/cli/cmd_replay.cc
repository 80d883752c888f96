// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb replay: plays a trace again.
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/guest_ending.h"
#include "rdbtool/replay/replayer.h"
#include "rdbtool/trace/reader.h"

#include <cstdio>
#include <unistd.h>

namespace rdb::cli {
namespace {

struct ReplayOptions {
  std::string trace;
  uint64_t to = UINT64_MAX;
  bool quiet = false;
};

class Terminal final : public replay::OutputSink {
public:
  void output(trace::OutputStream stream, const void* bytes, size_t size) override {
    int fd = stream == trace::OutputStream::kStderr ? 2 : 1;
    const char* at = static_cast<const char*>(bytes);
    while (size > 0) {
      ssize_t n = write(fd, at, size);
      if (n <= 0) return; // nobody listens any more
      at += n;
      size -= static_cast<size_t>(n);
    }
  }
};

int run_replay(const ReplayOptions& options) {
  trace::TraceReader trace(options.trace);
  trace::check_cpu(trace.metadata().cpu, trace::CpuInfo::of_this_machine(), trace.path());
  if (trace.processes().empty()) user_error("{}: holds no process", trace.path());
  Terminal terminal;
  replay::Replayer replayer(trace, trace.processes().front(), options.quiet ? nullptr : &terminal);
  std::optional<guest::Ending> ending = replayer.run(Time(options.to));
  if (ending) end_as(*ending);
  if (replayer.now().value >= options.to) {
    fmt::print(stderr, "rdb: stopped at time {}, pc {:#x}\n", replayer.now().value, replayer.registers().rip);
    return 0;
  }
  fmt::print(stderr, "rdb: the recording ends at time {}: {}\n", replayer.now().value,
             replayer.log_end().describe());
  return 0;
}

} // namespace

Action setup_replay(CLI::App& app) {
  auto options = std::make_shared<ReplayOptions>();
  app.add_option("TRACE", options->trace, "The recording: a directory, a name, or nothing for the latest");
  app.add_option("--to", options->to, "Stop at this time (guest instructions since the start)");
  app.add_flag("-q,--quiet", options->quiet, "Do not show what the program wrote");
  return [options] {
    try {
      return run_replay(*options);
    } catch (const replay::Divergence& difference) {
      throw Bug(difference.what());
    }
  };
}

} // namespace rdb::cli
