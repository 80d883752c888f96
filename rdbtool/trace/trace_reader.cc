// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/trace_reader.h"
#include "rdbtool/base/error.h"
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/format/bounded_json.h"
#include "rdbtool/trace/ring/ring_file.h"
#include "rdbtool/trace/trace_dir.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

namespace rdb::trace {
namespace {

constexpr size_t kMaxProcessJson = 1 << 20;
constexpr size_t kMaxProcesses = 1'000'000;

std::string read_text(const std::string& path, size_t limit) {
  try {
    return read_file(path, limit);
  } catch (const std::system_error& error) {
    user_error("{}", error.what());
  }
}

std::vector<ProcessInfo> read_processes(const std::string& path) {
  std::vector<ProcessInfo> processes;
  std::error_code error;
  for (const auto& entry : entries_of(path)) {
    std::string name = entry.path().filename().string();
    std::string description = entry.path().string() + "/process.json";
    // Without it the recorder died while it made the folder: nothing was recorded.
    if (!is_process_folder(name)) continue;
    if (entry.symlink_status(error).type() != std::filesystem::file_type::directory)
      user_error("{}: not a folder of a trace", entry.path().string());
    if (!std::filesystem::exists(description, error)) continue;
    if (processes.size() == kMaxProcesses)
      user_error("{}: refused: it holds more than {} processes", path, kMaxProcesses);
    processes.push_back(process_info_from_json(read_text(description, kMaxProcessJson), name, description));
  }
  std::sort(processes.begin(), processes.end(), [](const ProcessInfo& a, const ProcessInfo& b) {
    return std::tie(a.number, a.name) < std::tie(b.number, b.name);
  });
  return processes;
}

} // namespace

bool is_process_folder(const std::string& name) {
  size_t dot = name.find('.');
  constexpr size_t kMostDigits = 10; // more than any process or number of programs has
  auto digits = [](std::string_view text) {
    return !text.empty() && text.size() <= kMostDigits &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return digits(name.substr(0, dot)) && (dot == std::string::npos || digits(name.substr(dot + 1)));
}

struct TraceReader::State {
  std::string path;
  Metadata metadata;
  std::vector<ProcessInfo> processes;
  ContentStore files;
  std::map<std::string, LogTails> tails; // by process

  // Once for both logs: while a recording is going on, the next look would give more.
  const LogTails& tails_of(const ProcessInfo& process) {
    auto [found, is_new] = tails.try_emplace(process.name);
    if (is_new) found->second = read_ring(path + "/" + process.name, metadata.id);
    return found->second;
  }

  explicit State(std::string directory)
      : path(std::move(directory)),
        metadata(
            Metadata::from_json(read_text(path + "/metadata.json", kMaxMetadata), path + "/metadata.json")),
        processes(read_processes(path)), files(path + "/files") {}
};

TraceReader::TraceReader(const std::string& name) : state_(std::make_unique<State>(find_trace(name))) {}
TraceReader::~TraceReader() = default;

const std::string& TraceReader::path() const {
  return state_->path;
}
const Metadata& TraceReader::metadata() const {
  return state_->metadata;
}
const std::vector<ProcessInfo>& TraceReader::processes() const {
  return state_->processes;
}
const ContentStore& TraceReader::files() const {
  return state_->files;
}

InputReader TraceReader::inputs(const ProcessInfo& process) const {
  std::string folder = state_->path + "/" + process.name;
  return InputReader(folder + "/inputs", state_->metadata.id, tail(process, LogKind::inputs));
}

ChunkReader TraceReader::chunks(const ProcessInfo& process) const {
  std::string folder = state_->path + "/" + process.name;
  return ChunkReader(folder + "/chunks", state_->metadata.id, tail(process, LogKind::chunks));
}

std::shared_ptr<const LogTail> TraceReader::tail(const ProcessInfo& process, LogKind kind) const {
  const LogTails& tails = state_->tails_of(process);
  return kind == LogKind::inputs ? tails.inputs : tails.chunks;
}

RunReader TraceReader::run(const ProcessInfo& process) const {
  return RunReader(inputs(process), chunks(process));
}

} // namespace rdb::trace
