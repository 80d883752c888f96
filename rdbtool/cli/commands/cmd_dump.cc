// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb dump: what is in the logs of a recording, as text, one record a line.
#include "rdbtool/base/error.h"
#include "rdbtool/base/output_file.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/chunk_picture.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/cli/trace_text.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/programs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace rdb::cli {
namespace {

struct DumpOptions {
  std::string trace;
  bool inputs = false;
  bool chunks = false;
  bool files = false;
  uint64_t from = 0;
  uint64_t to = UINT64_MAX;
  std::string process;
  std::string picture;
};

using LogEnds = std::vector<trace::LogEnd>;

// What was read stands; why there is no more is said beside it.
void note_end(const trace::LogEnd& end, LogEnds& ends) {
  ends.push_back(end);
  if (end.complete()) return;
  std::fflush(stdout);
  bool closed = end.kind == trace::LogEnd::Kind::closed;
  print_error("rdb: note: the log {}{}\n", closed ? "" : "is ", visible_text(end.describe()));
}

void dump_inputs(trace::InputReader inputs, const DumpOptions& options, LogEnds& ends) {
  if (options.from != 0) inputs.seek(Time(options.from));
  while (const trace::Input* input = inputs.next()) {
    if (input->at.time.value > options.to) return;
    fmt::print("{}\n", input_text(*input));
  }
  note_end(inputs.end(), ends);
}

void dump_chunks(trace::ChunkReader chunks, const DumpOptions& options, LogEnds& ends) {
  if (options.from != 0) chunks.seek(Time(options.from));
  while (const trace::TimedChunk* chunk = chunks.next()) {
    if (chunk->begin.value > options.to) return;
    fmt::print("{:>12} {:>12} {:>7} {:>12}\n", chunk->begin.value, chunk->end().value,
               chunk->chunk.thread.value, chunk->chunk.instructions);
  }
  note_end(chunks.end(), ends);
}

// The store, with the names under which files were mapped.
void dump_files(const trace::TraceReader& trace) {
  std::multimap<trace::ContentId, std::string> names;
  for (const trace::MappedFile& file : trace.metadata().files)
    names.emplace(file.content,
                  shell_text(file.path) +
                      (file.build_id.empty() ? "" : " build-id " + visible_text(file.build_id)));
  for (const trace::ContentId& id : trace.files().list()) {
    auto [first, last] = names.equal_range(id);
    std::string known;
    for (; first != last; ++first)
      known += "  " + first->second;
    fmt::print("{:<30} {:>12}{}\n", trace::to_string(id), id.size, known);
  }
}

void draw_picture(const trace::TraceReader& trace, const DumpOptions& options) {
  std::string text =
      chunk_picture(trace, trace::program_named(trace, options.process), {options.from, options.to});
  try {
    write_output(options.picture, text);
  } catch (const std::system_error& error) {
    output_failed("dump: --picture ", error);
  }
}

int dump(const DumpOptions& options) {
  trace::TraceReader trace(options.trace);
  if (options.from > options.to) user_error("dump: --from {} lies after --to {}", options.from, options.to);
  if (!options.picture.empty()) {
    draw_picture(trace, options);
    return 0;
  }
  if (options.files) dump_files(trace);
  bool inputs = options.inputs || !(options.chunks || options.files);
  if (!inputs && !options.chunks) return 0;
  bool any = false;
  LogEnds ends;
  for (const trace::ProcessInfo& process : trace.processes()) {
    bool wanted = options.process.empty() || options.process == process.name ||
                  options.process == std::to_string(process.pid);
    if (!wanted) continue;
    any = true;
    if (trace.processes().size() > 1)
      fmt::print("process {} {}\n", process.name, shell_text(process.program));
    if (inputs) dump_inputs(trace.inputs(process), options, ends);
    if (options.chunks) dump_chunks(trace.chunks(process), options, ends);
  }
  if (!any && !options.process.empty())
    user_error("{}: no process {} in it; rdb info lists them", trace.path(), options.process);
  bool damaged =
      std::ranges::any_of(ends, [&](const trace::LogEnd& end) { return trace::is_damaged(trace, end); });
  return damaged ? kExitUsage : 0;
}

} // namespace

Action setup_dump(CommandOptions& command) {
  auto options = std::make_shared<DumpOptions>();
  command.trace(options->trace);
  command.flag("--inputs", options->inputs,
               "What entered the program (the default): time.ordinal, thread, kind, data");
  Option chunks =
      command.flag("--chunks", options->chunks, "The turns of its threads: begin, end, thread, instructions");
  command
      .option("--picture", options->picture,
              "With --chunks: draw them into this SVG file, one lane for each thread, instead of text")
      .needs(chunks);
  command.flag("--files", options->files, "The files it mapped: content, size, names");
  command.option("--from", options->from, "Only from this time on");
  command.option("--to", options->to, "Only up to this time");
  command.option("-p,--process", options->process, "Only this process: its pid, or its folder's name");
  return [options] { return dump(*options); };
}

} // namespace rdb::cli
