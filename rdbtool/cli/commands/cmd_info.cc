// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb info: what a recording says about itself, for people or as JSON; and what recordings can hold, the
// table of system calls.
#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/syscalls/table.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/format/json_text.h"
#include "rdbtool/trace/trace_dir.h"

#include <cstdio>
#include <fmt/ranges.h>
#include <memory>

namespace rdb::cli {
namespace {

using trace::text_to_json;

struct ProcessSummary {
  const trace::ProcessInfo& info;
  uint64_t inputs;
  uint64_t chunks;
  uint64_t last_time;
  std::string end; // what the log's last block says
  bool complete;
  bool damaged; // as far as its end shows
};

// Reads the last block only: the headers before it are hopped over.
ProcessSummary summarize(const trace::TraceReader& trace, const trace::ProcessInfo& info) {
  trace::InputReader inputs = trace.inputs(info);
  trace::ChunkReader chunks = trace.chunks(info);
  inputs.seek(inputs.last_time() + 1);
  inputs.next();
  return {info,
          inputs.count(),
          chunks.count(),
          std::max(inputs.last_time(), chunks.last_time()).value,
          inputs.end().describe(),
          inputs.end().complete(),
          trace::is_damaged(trace, inputs.end())};
}

int print_json(const trace::TraceReader& trace) {
  auto json = nlohmann::ordered_json::parse(trace.metadata().to_json());
  json["path"] = text_to_json(trace.path());
  json["size"] = trace::directory_size(trace.path());
  json["length"] = length_of(trace);
  json["ended"] = state_text(trace);
  bool damaged = false;
  auto list = nlohmann::ordered_json::array();
  for (const trace::ProcessInfo& info : trace.processes()) {
    ProcessSummary summary = summarize(trace, info);
    damaged |= summary.damaged;
    if (summary.damaged) print_error("rdb: process {}: {}\n", info.name, summary.end);
    list.push_back({{"name", info.name},
                    {"pid", info.pid},
                    {"origin", trace::name_of(info.origin)},
                    {"parent", info.parent},
                    {"parent_time", info.parent_time.value},
                    {"program", text_to_json(info.program)},
                    {"inputs", summary.inputs},
                    {"chunks", summary.chunks},
                    {"last_time", summary.last_time},
                    {"complete", summary.complete},
                    {"end", text_to_json(summary.end)}});
  }
  json["processes"] = list;
  // As ASCII: what a terminal would not show is escaped. The library leaves one such character.
  std::string text = json.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  for (size_t at = text.find('\x7f'); at != std::string::npos; at = text.find('\x7f', at))
    text.replace(at, 1, "\\u007f");
  fmt::print("{}\n", text);
  return damaged ? kExitUsage : 0;
}

int print_text(const trace::TraceReader& trace) {
  const trace::Metadata& m = trace.metadata();
  auto line = [](const char* name, const std::string& value) {
    fmt::print("{:<12} {}\n", name, visible_text(value));
  };
  std::string command;
  for (const std::string& word : m.command)
    command += (command.empty() ? "" : " ") + shell_text(word);
  line("trace", trace.path());
  line("program", shell_text(m.program));
  line("command", command);
  line("directory", shell_text(m.directory));
  line("recorded", fmt::format("{} by rdb {}", moment_text(m.started_unix_ns), m.rdb_version));
  line("machine", fmt::format("{} family {} model {} stepping {}, Linux {}", m.cpu.vendor, m.cpu.family,
                              m.cpu.model, m.cpu.stepping, m.kernel));
  line("layout", m.aslr ? fmt::format("random, seed {:#x}", m.layout_seed) : "fixed");
  if (m.chaos_seed) line("chaos", fmt::format("seed {:#x}", *m.chaos_seed));
  line("length", fmt::format("{} instructions", length_of(trace)));
  line("size", bytes_text(trace::directory_size(trace.path())));
  std::string reason = m.state == trace::TraceState::finished ? m.end.reason : "";
  line("ended", state_text(trace) + (reason.empty() ? "" : ": " + reason));
  bool damaged = false;
  for (const trace::ProcessInfo& info : trace.processes()) {
    ProcessSummary summary = summarize(trace, info);
    damaged |= summary.damaged;
    if (summary.damaged) print_error("rdb: process {}: {}\n", info.name, summary.end);
    std::string origin = info.origin == trace::ProcessOrigin::spawned
                             ? ""
                             : fmt::format(", {} by {} at {}", trace::name_of(info.origin), info.parent_pid,
                                           info.parent_time.value);
    line("process", fmt::format("{} {}{}: {} inputs, {} turns, {}", info.name, shell_text(info.program),
                                origin, summary.inputs, summary.chunks, summary.end));
  }
  return damaged ? kExitUsage : 0;
}

} // namespace

Action setup_info(CommandOptions& command) {
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.trace(*name);
  command.flag("--json", *json, "Everything, for programs to read");
  auto syscalls = std::make_shared<bool>(false);
  command.flag("--syscalls", *syscalls, "What becomes of each system call; needs no recording")
      .excludes_all_before();
  return [name, json, syscalls] {
    if (*syscalls) {
      print_syscall_table(stdout);
      return 0;
    }
    trace::TraceReader trace(*name);
    return *json ? print_json(trace) : print_text(trace);
  };
}

} // namespace rdb::cli
