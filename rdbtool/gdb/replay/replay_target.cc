// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// State and files of a recording, and diversions. Moving is in replay_moves.cc.
#include "rdbtool/gdb/replay/replay_target.h"

#include "rdbtool/base/error.h"
#include "rdbtool/gdb/protocol/recorded_files.h"
#include "rdbtool/gdb/replay/replay_agent.h"
#include "rdbtool/guest/host/own_executable.h"
#include "rdbtool/trace/damage.h"
#include "rdbtool/trace/programs.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdb::gdb {

ReplayTarget::ReplayTarget(const ReplayTargetOptions& options)
    : trace_(options.trace), process_(trace::program_named(trace_, options.process)),
      snapshots_(options.snapshots) {
  guest::require_proc();
  check_replayable();
  trace::check_cpu(trace_.metadata().cpu, trace::CpuInfo::of_this_machine(), trace_.path());
  for (const trace::MappedFile& file : trace_.metadata().files)
    files_[file.path] = file.content;
  last_ = {trace::last_time_of(trace_, process_), UINT32_MAX};
  if (options.observers) make_debug_output();
  start_first_process(options.observers);
  Advance nowhere;
  nowhere.limit = {Time(0), UINT32_MAX};
  try {
    take(worker_.advance(nowhere));
  } catch (const ReplayEnded& error) {
    explained(error).raise();
  }
  first_ = here_;
  snapshots_.set_first(first_, worker_.fork_copy());
  stack_ = GuestAddr(registers(thread_).gpr[4]);
  auxv_ = read_auxv();
}

// Before any time is spent: the replay process would find the same.
void ReplayTarget::check_replayable() const {
  trace::InputReader inputs = trace_.inputs(process_);
  if (inputs.peek() == nullptr)
    user_error("{}: the recording ends at time 0: {}", trace_.path(), inputs.end().describe());
  trace::check_files(trace_, process_);
}

// At the first position it lies on the stack, behind argc, argv and the environment.
Bytes ReplayTarget::read_auxv() {
  GuestAddr at = stack_;
  auto word = [&] {
    uint64_t value = 0;
    read_memory(at, std::as_writable_bytes(std::span(&value, 1)));
    at += sizeof value;
    return value;
  };
  Bytes vector;
  at += word() * sizeof(uint64_t); // argv; its null ends the loop below
  constexpr int kMost = 100'000;
  for (int nulls = 0, i = 0; nulls < 2 && i < kMost; ++i)
    nulls += word() == 0;
  for (uint64_t type = 1; type != 0 && vector.size() < 4096;) {
    std::array<uint64_t, 2> entry{word(), word()};
    type = entry[0];
    auto bytes = std::as_bytes(std::span(entry));
    vector.insert(vector.end(), bytes.begin(), bytes.end());
  }
  return vector;
}

ReplayTarget::~ReplayTarget() = default;

// The first replay process is forked from this one, before it holds anything that should not be shared.
void ReplayTarget::start_first_process(const AddObservers& observers) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) bug("no socket for the replay");
  std::string trace_path = trace_.path();
  std::string name = process_.name;
  pid_t child = fork();
  if (child < 0) user_error("no process for the replay can be made");
  if (child == 0) {
    // Ctrl-C at the terminal is for gdb.
    setsid();
    close(ends[0]);
    Message failed;
    try {
      trace::TraceReader trace(trace_path);
      ReplayAgent agent(trace, trace::program_named(trace, name), observers, debug_output_.get());
      agent.serve(ends[1]);
    } catch (const std::exception& error) {
      put(failed, Failure::of(error));
      failed.put(Position());
    }
    receive_message(ends[1]); // the answer to whatever is asked first
    send_message(ends[1], failed);
    _exit(1);
  }
  close(ends[1]);
  worker_ = ReplayProcess(ends[0], child);
}

ProgramEnd ReplayTarget::ending() {
  if (trace::next_program(trace_, process_) != nullptr) return {ProgramEnd::Kind::replaced, 0};
  auto exit = trace::exit_of(trace_, process_);
  if (!exit) return {};
  return {exit->by_signal ? ProgramEnd::Kind::signalled : ProgramEnd::Kind::exited, exit->status};
}

std::string ReplayTarget::damage() {
  if (!damage_) damage_ = trace::find_damage(trace_, process_);
  return *damage_;
}

std::string ReplayTarget::end_text() {
  return damage().empty() ? describe(ending()) : damage();
}

void ReplayTarget::make_debug_output() {
  debug_output_ = OwnedFd(memfd_create("debug output", MFD_CLOEXEC));
  if (!debug_output_ || fcntl(debug_output_.get(), F_SETFL, O_APPEND) < 0)
    throw std::runtime_error(
        fmt::format("no file in memory for the output of debug code: {}", std::strerror(errno)));
}

// The last line that a replay process printed which could not say anything else any more.
std::string ReplayTarget::last_words() const {
  constexpr off_t kMost = 4096;
  char text[kMost];
  struct stat info{};
  if (!debug_output_ || fstat(debug_output_.get(), &info) != 0) return "";
  ssize_t count = pread(debug_output_.get(), text, kMost, std::max<off_t>(info.st_size - kMost, 0));
  std::string_view words(text, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  while (words.ends_with('\n'))
    words.remove_suffix(1);
  words.remove_prefix(words.rfind('\n') + 1);
  constexpr std::string_view kName = "rdb: ";
  return words.starts_with(kName) ? std::string(words.substr(kName.size())) : "";
}

// A process that runs debug code may be ended by it.
Failure ReplayTarget::explained(const std::exception& error) const {
  Failure failure = Failure::of(error);
  if (dynamic_cast<const ReplayEnded*>(&error) == nullptr || !debug_output_) return failure;
  failure.text = last_words();
  if (failure.text.empty())
    failure.text = "the replay process has ended, perhaps by debug code: --no-module goes on without it";
  return failure;
}

void ReplayTarget::take(const Advanced& reply) {
  bool at_end = reply.kind == Advanced::Kind::end || reply.here.time >= last_.time;
  if (at_end && !failure_ && !damage().empty()) failure_ = {Failure::Kind::user, damage()};
  here_ = reply.here;
  input_pending_ = reply.input_pending;
  thread_ = reply.thread;
  threads_.clear();
}

// If the process has ended, nothing that gdb asks for is there. So this counts as a failure of the replay, as
// it does when the program is moved.
Message ReplayTarget::ask(ReplayProcess& process, ReplayCommand command, const Message& arguments) try {
  return process.ask(command, arguments);
} catch (const ReplayEnded& error) {
  if (!failure_ && &process == &worker_) failure_ = explained(error);
  throw;
}

const std::vector<ThreadId>& ReplayTarget::thread_ids() {
  if (threads_.empty()) {
    Message reply = ask(worker_, ReplayCommand::threads, {});
    for (auto count = reply.get<uint64_t>(); count > 0; --count)
      threads_.push_back(reply.get<ThreadId>());
    // When the last one has ended, its last state is still shown.
    if (threads_.empty()) threads_.push_back(thread_);
  }
  return threads_;
}

std::vector<ThreadInfo> ReplayTarget::threads() {
  std::string name = executable().substr(executable().rfind('/') + 1, 15);
  std::vector<ThreadInfo> all;
  for (ThreadId id : thread_ids())
    all.push_back({id, name});
  return all;
}

bool ReplayTarget::has_thread(ThreadId thread) {
  return std::ranges::find(thread_ids(), thread) != thread_ids().end();
}

ThreadRegisters ReplayTarget::registers(ThreadId thread) {
  Message request;
  request.put(thread);
  Message reply = ask(shown(), ReplayCommand::registers, request);
  return get_registers(reply);
}

size_t ReplayTarget::read_memory(GuestAddr from, std::span<std::byte> to) {
  Message request;
  request.put(from);
  request.put(static_cast<uint64_t>(to.size()));
  Bytes data = ask(shown(), ReplayCommand::read_memory, request).get_bytes();
  std::ranges::copy(data, to.begin());
  return data.size();
}

std::vector<MemoryRegion> ReplayTarget::mappings() {
  Message reply = ask(shown(), ReplayCommand::mappings, {});
  std::vector<MemoryRegion> all(reply.get<uint64_t>());
  for (MemoryRegion& mapping : all) {
    mapping.begin = GuestAddr(reply.get<uint64_t>());
    mapping.end = GuestAddr(reply.get<uint64_t>());
    mapping.protection = reply.get<int>();
    mapping.offset = reply.get<uint64_t>();
    mapping.path = reply.get_text();
    if (!mapping.path.empty()) continue;
    mapping.offset = 0;
    if (mapping.begin <= stack_ && stack_ < mapping.end) mapping.path = "[stack]";
  }
  return all;
}

uint64_t ReplayTarget::state_hash() {
  return ask(shown(), ReplayCommand::state_hash, {}).get<uint64_t>();
}

std::array<std::byte, 128> ReplayTarget::siginfo(ThreadId thread) {
  Message request;
  request.put(thread);
  return ask(shown(), ReplayCommand::siginfo, request).get<std::array<std::byte, 128>>();
}

std::unique_ptr<RecordedFile> ReplayTarget::open_file(const std::string& path) {
  auto found = files_.find(path);
  if (found == files_.end()) {
    // The program may have named it through a link that this machine has, too.
    char real[PATH_MAX];
    if (realpath(path.c_str(), real)) found = files_.find(real);
  }
  if (found == files_.end()) return nullptr;
  return file_of(trace_.files().open(found->second));
}

void ReplayTarget::begin_diversion() {
  diversion_ = worker_.fork_copy();
}

void ReplayTarget::write_registers(ThreadId thread, const ThreadRegisters& registers) {
  Message request;
  request.put(thread);
  put(request, registers);
  diversion_.ask(ReplayCommand::write_registers, request);
}

size_t ReplayTarget::write_memory(GuestAddr to, std::span<const std::byte> from) {
  Message request;
  request.put(to);
  request.put(from);
  return diversion_.ask(ReplayCommand::write_memory, request).get<uint64_t>();
}

StopEvent ReplayTarget::run_diversion(ThreadId thread, const RunRequest& request) {
  Advance advance;
  advance.step = request.step;
  if (request.stops) advance.stops = *request.stops;
  Message arguments;
  put(arguments, advance);
  for (;;) {
    Message message = diversion_.ask(ReplayCommand::run_diversion, arguments);
    Advanced reply = get_advanced(message);
    if (request.output && !reply.output.empty()) request.output(reply.output);
    if (reply.stop) return *reply.stop;
    if (request.interrupt && request.interrupt->requested())
      return {StopKind::interrupted, thread, 0, {}, {}};
  }
}

} // namespace rdb::gdb
