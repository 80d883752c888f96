// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The trace as a directory: its metadata, the reserve that pays for the final metadata on a full disk, the
// folders of its processes, the list of mapped files.
#include "rdbtool/trace/trace_writer.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/path.h"
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/format/process_info.h"
#include "rdbtool/trace/process_writer_state.h"
#include "rdbtool/trace/trace_dir.h"

#include <cctype>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <system_error>
#include <unistd.h>

namespace rdb::trace {
namespace {

// Enough for the final metadata of a program with many files and a large environment.
constexpr size_t kReserveSize = 128 << 10;

std::string random_id() {
  uint64_t words[2];
  if (getrandom(words, sizeof words, 0) != sizeof words) throw_errno("getrandom", "failed");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

// What the trace is called. Program names are any bytes; a trace's name can be typed and printed anywhere.
std::string trace_name(const std::string& program) {
  std::string name(base_name(program).substr(0, 60));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::strchr("._+-", c) == nullptr) c = '_';
  return name.empty() || name[0] == '.' || name[0] == '-' ? "program" + name : name;
}

// A directory that was made a moment ago, with what a trace begins with.
void remove_empty_trace(const std::string& path) {
  for (const char* name : {"reserve", "lock", "metadata.json.new", "metadata.json"})
    unlink((path + "/" + name).c_str());
  rmdir(path.c_str());
}

std::string make_directory(const std::string& directory, const Metadata& metadata) {
  if (directory.empty()) return make_trace_directory(trace_name(metadata.program));
  check_new_trace(directory);
  if (mkdir(directory.c_str(), 0700) != 0)
    user_error("{}: cannot make a directory for the trace: {}{}", directory,
               std::generic_category().message(errno),
               errno == EEXIST ? " (choose another, or remove it with rdb rm)" : "");
  return directory;
}

} // namespace

uint64_t unix_now_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct TraceWriter::State {
  std::string path;
  Metadata metadata;
  ContentStore files;
  Compressor compressor;
  RecorderLock lock;
  std::map<int32_t, int> images; // per pid, so far
  uint64_t process_count = 0;
  std::map<std::pair<ContentId, std::string>, size_t> noted; // index in metadata.files

  State(std::string directory, Metadata m)
      : path(std::move(directory)), metadata(std::move(m)), files(path + "/files"), lock(path) {}
  std::string metadata_path() const { return path + "/metadata.json"; }
  std::string reserve_path() const { return path + "/reserve"; }
};

TraceWriter::TraceWriter(Metadata metadata, const std::string& directory) {
  metadata.format = kFormatVersion;
  metadata.id = random_id();
  metadata.started_unix_ns = unix_now_ns();
  metadata.cpu = CpuInfo::of_this_machine();
  utsname system;
  if (uname(&system) == 0) metadata.kernel = system.release;
  metadata.state = TraceState::running;
  std::string path = make_directory(directory, metadata);
  try {
    state_ = std::make_unique<State>(path, std::move(metadata));
    // First what makes the directory a trace: whatever happens then, rdb ls shows it and rdb rm removes it.
    replace_file(state_->metadata_path(), state_->metadata.to_json());
    std::string reserve(kReserveSize, '\0');
    OwnedFd fd = open_file(state_->reserve_path(), O_WRONLY | O_CREAT | O_EXCL);
    write_all(fd.get(), reserve.data(), reserve.size(), state_->reserve_path());
  } catch (const std::system_error& error) {
    state_.reset();
    remove_empty_trace(path);
    user_error("cannot make a trace: {}", error.what());
  } catch (...) {
    state_.reset();
    remove_empty_trace(path);
    throw;
  }
}

TraceWriter::~TraceWriter() = default;

const std::string& TraceWriter::path() const {
  return state_->path;
}
Metadata& TraceWriter::metadata() {
  return state_->metadata;
}
ContentStore& TraceWriter::files() {
  return state_->files;
}

std::unique_ptr<ProcessWriter> TraceWriter::add_process(const StartInput& start, const std::string& parent) {
  int image = state_->images[start.pid] + 1;
  ProcessInfo info;
  info.name = image == 1 ? std::to_string(start.pid) : fmt::format("{}.{}", start.pid, image);
  info.number = state_->process_count + 1;
  info.origin = start.origin;
  info.pid = start.pid;
  info.parent_pid = start.parent_pid;
  info.parent = parent;
  info.parent_time = start.parent_time;
  info.program = start.program;
  std::string folder = state_->path + "/" + info.name;
  if (mkdir(folder.c_str(), 0700) != 0) throw_errno(folder, "cannot make a directory");
  const std::string& id = state_->metadata.id;
  try {
    // process.json last: a folder without it was being made when the recorder died.
    auto state = std::unique_ptr<ProcessWriter::State>(
        new ProcessWriter::State{info.name,
                                 {BlockWriter(folder + "/inputs", LogKind::inputs, id, state_->compressor)},
                                 {BlockWriter(folder + "/chunks", LogKind::chunks, id, state_->compressor)}});
    replace_file(folder + "/process.json", to_json(info));
    // Who asks for the latest wants one with something in it.
    if (state_->process_count == 0) set_latest(state_->path);
    ++state_->images[start.pid];
    ++state_->process_count;
    return std::unique_ptr<ProcessWriter>(new ProcessWriter(std::move(state)));
  } catch (const std::system_error&) {
    // The disk is full: the caller makes room and tries again.
    for (const char* name : {"inputs", "chunks", "process.json"})
      unlink((folder + "/" + name).c_str());
    rmdir(folder.c_str());
    throw;
  }
}

bool TraceWriter::has_process() const {
  return state_->process_count != 0;
}

void TraceWriter::release_reserve() {
  unlink(state_->reserve_path().c_str());
}

void TraceWriter::note_file(const ContentId& id, std::string_view path) {
  std::vector<MappedFile>& list = state_->metadata.files;
  if (!state_->noted.try_emplace({id, std::string(path)}, list.size()).second) return;
  OwnedFd fd(::open(state_->files.path_of(id).c_str(), O_RDONLY | O_CLOEXEC));
  list.push_back({id, std::string(path), fd ? build_id_of(fd.get()) : ""});
}

void TraceWriter::finish(const TraceEnd& end) {
  state_->metadata.end = end;
  state_->metadata.state = TraceState::finished;
  if (state_->metadata.end.unix_ns == 0) state_->metadata.end.unix_ns = unix_now_ns();
  release_reserve();
  replace_file(state_->metadata_path(), state_->metadata.to_json());
}

} // namespace rdb::trace
