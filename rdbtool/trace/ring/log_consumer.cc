// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring/log_consumer.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/ring/control_socket.h"
#include "rdbtool/trace/ring/file_changes.h"
#include "rdbtool/trace/ring/frame_decoder.h"
#include "rdbtool/trace/ring/ring.h"
#include "rdbtool/trace/ring/ring_file.h"
#include "rdbtool/trace/ring/ring_mapping.h"
#include "rdbtool/trace/trace_writer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <list>
#include <poll.h>
#include <set>
#include <sys/epoll.h>
#include <system_error>

namespace rdb::trace {
namespace {

// Room is given back to a producer in steps of this size, not only when its whole ring is done.
constexpr size_t kBatch = 64 << 10;
// Blocks are written when this part of a ring holds what is in none yet: a producer has room meanwhile.
constexpr size_t kSettledParts = 2;
// And at least this often, for readers of a recording that goes on, and for rings that are no files.
constexpr uint64_t kFlushPeriodMs = 500;
constexpr int kShortestWaitMs = 20;
constexpr int kLongestWaitMs = 500;
// A process may ring its bell as fast as it can; the others have their turn.
constexpr int kMessagesPerPump = 32;

uint64_t now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// A large ring for the first process, which is often the only one; then ever smaller ones, so that hundreds
// fit.
size_t ring_size(size_t rings) {
  if (rings == 0) return kMaxRing;
  return std::max(kMinRing, (size_t{1} << 20) >> std::min<size_t>(rings / 8, 10));
}

bool is_write_failure(const std::error_code& code) {
  for (int error : {ENOSPC, EDQUOT, EFBIG, EIO, EROFS, ENOENT, EACCES})
    if (code == std::error_code(error, std::generic_category())) return true;
  return false;
}

// A process in a namespace of its own has another number there, which is somebody else's here.
// `folder`: in the trace, of the process that is meant.
bool has_ring(int32_t pid, const std::string& folder) {
  std::string file = fmt::format("/{}/{}", folder, kRingFile);
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(file) || line.find(kMemoryRing) != std::string::npos) return true;
  return false;
}

} // namespace

struct LogConsumer::Producer {
  RingMapping ring;
  OwnedFd control;
  std::string parent; // folder
  int32_t pid = 0;    // as the process knows it
  std::unique_ptr<ProcessWriter> writer;
  uint64_t last_flush = 0;
  std::vector<SharedFile> shared_files;
  MappedFiles mapped_files;
  bool exited = false; // its last input is its exit
  bool hung_up = false;
  bool gave_up = false; // rdb could not record it any further
  bool ignored = false; // what comes is thrown away: the log could not be continued
  bool kept = false;    // but stays in the ring's file: the disk is full

  Producer(size_t capacity, std::string path)
      : ring(capacity, std::move(path)), mapped_files(ring.file_flags()) {}
};

// A process whose death was not noticed yet has nothing mapped any more.
bool LogConsumer::is_gone(const Producer& producer) {
  pollfd control = {producer.control.get(), 0, 0};
  return producer.hung_up || (poll(&control, 1, 0) == 1 && (control.revents & (POLLHUP | POLLERR)) != 0);
}

struct LogConsumer::State {
  TraceWriter& trace;
  size_t memory;
  OwnedFd epoll;
  std::list<Producer> producers;
  size_t ring_bytes = 0;
  uint64_t ring_count = 0; // ever made
  LogStop stopped = LogStop::none;
  std::string failure;
  int wait_ms = kShortestWaitMs;
  DecodedFrame frame;              // reused
  const Producer* first = nullptr; // of the first process, its present program
  bool had_first = false;
  std::string first_name; // in the trace
  int32_t first_pid = 0;
  std::optional<ExitInput> first_exit;
  std::string first_gave_up;
  std::set<int32_t> pids; // of all processes
  FileChanges file_changes;

  State(TraceWriter& t, size_t m) : trace(t), memory(m), epoll(epoll_create1(EPOLL_CLOEXEC)) {}

  ProducerEnds add(Producer* parent);
  bool drain(Producer& producer);
  bool look_at_kept(Producer& producer);
  void begin_log(Producer& producer, const StartInput& start);
  void follow_first(Producer& producer, const StartInput& start);
  void keep_ring(Producer& producer);
  void settle(Producer& producer);
  void consume(Producer& producer);
  void fail(Producer& producer, LogClose how, LogStop reason);
  void write_failed(const std::string& what);
  void answer(Producer& producer);
  ControlReply handle(Producer& producer, ControlRequest& request, ProducerEnds& ends);
  ControlReply store(Producer& producer, ControlRequest& request);
  void change_file(Producer& producer, const ControlRequest& request, ControlReply& reply);
  void share(Producer& producer, const ControlRequest& request, ControlReply& reply);
  void close(Producer& producer, LogClose otherwise);
  void flush_where_due();
  void stop(LogStop reason);
};

LogConsumer::LogConsumer(TraceWriter& writer, size_t memory)
    : state_(std::make_unique<State>(writer, memory)) {
  if (!state_->epoll) throw_errno("epoll", "cannot be made");
}

LogConsumer::~LogConsumer() = default;

// `parent`: null for a process that the recorder starts.
ProducerEnds LogConsumer::State::add(Producer* parent) {
  size_t capacity = ring_size(producers.size());
  // Half for the rings, a sixteenth for blocks being filled.
  if (ring_bytes + capacity > memory / 2)
    limit("more than {} processes recorded at the same time", producers.size());
  Producer& producer =
      producers.emplace_back(capacity, fmt::format("{}/ring-{}", trace.path(), ++ring_count));
  try {
    auto [here, there] = control_pair();
    producer.control = std::move(here);
    if (parent != nullptr && parent->writer != nullptr) producer.parent = parent->writer->name();
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = &producer;
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, producer.control.get(), &event) != 0)
      throw_errno("epoll", "cannot watch a process");
    ring_bytes += capacity;
    file_changes.add(producer.mapped_files, parent == nullptr ? nullptr : &parent->mapped_files);
    if (stopped != LogStop::none) producer.ring.stop(stopped);
    if (!had_first) first = &producer;
    had_first = true;
    return {producer.ring.release_fd(), there.release()};
  } catch (...) {
    file_changes.remove(producer.mapped_files);
    producer.ring.remove_file();
    producers.pop_back();
    throw;
  }
}

// Takes what is in the ring. True if there was anything.
bool LogConsumer::State::drain(Producer& producer) {
  if (producer.kept) return look_at_kept(producer);
  bool any = false;
  // One ringful at most, or a quick producer would keep the others waiting.
  size_t budget = producer.ring.capacity();
  for (;;) {
    bool sound;
    std::span<const uint8_t> available = producer.ring.available(sound);
    if (!sound && !producer.ignored) fail(producer, LogClose::damaged, LogStop::damaged);
    if (available.empty() || !sound) return any;
    any = true;
    size_t done = 0;
    while (done < available.size() && done < kBatch && !producer.ignored) {
      if (!decode_frame(available.subspan(done), producer.ring.position() + done, frame,
                        CheckOf::short_frames)) {
        fail(producer, LogClose::damaged, LogStop::damaged);
        break;
      }
      consume(producer);
      done += frame.size;
    }
    if (producer.kept) return true;
    if (producer.ignored) done = available.size();
    producer.ring.take(done);
    if (producer.ignored)
      producer.ring.discard();
    else if (producer.ring.held() >= producer.ring.capacity() / kSettledParts)
      settle(producer);
    if (done >= budget || producer.kept) return any;
    budget -= done;
  }
}

// Whether the process has ended is to be known, although nothing of its ring is written any more.
bool LogConsumer::State::look_at_kept(Producer& producer) {
  bool sound;
  std::span<const uint8_t> available = producer.ring.available(sound);
  if (available.empty() || !decode_frame(available, producer.ring.position(), frame)) return false;
  producer.ring.take(frame.size);
  if (frame.is_chunk) return true;
  producer.exited = frame.input.kind() == InputKind::exit;
  if (producer.exited && &producer == first) first_exit = frame.input.as<ExitInput>();
  return true;
}

// Has the log files hold what was taken from the ring, whose room can then be used again.
void LogConsumer::State::settle(Producer& producer) {
  producer.last_flush = now_ms();
  if (producer.writer == nullptr || producer.ignored || producer.ring.held() == 0) return;
  try {
    producer.writer->flush();
    producer.ring.settle(producer.writer->settled());
  } catch (const std::system_error& error) {
    write_failed(error.what());
  }
}

// Passes one decoded frame on to the process's log.
void LogConsumer::State::consume(Producer& producer) {
  try {
    if (frame.is_chunk) {
      if (producer.writer == nullptr) bug("a turn before the start");
      producer.writer->append(frame.chunk);
    } else {
      if (producer.writer == nullptr) {
        if (frame.input.kind() != InputKind::start) bug("an input before the start");
        begin_log(producer, frame.input.as<StartInput>());
      }
      producer.writer->append(frame.input);
      producer.exited = frame.input.kind() == InputKind::exit;
      if (producer.exited) file_changes.remove(producer.mapped_files);
      if (producer.exited && &producer == first) first_exit = frame.input.as<ExitInput>();
    }
  } catch (const std::system_error& error) {
    write_failed(error.what());
  } catch (const Bug&) {
    fail(producer, LogClose::damaged, LogStop::damaged);
  }
}

// Makes the files of a process. Its ring can be read from then on.
void LogConsumer::State::begin_log(Producer& producer, const StartInput& start) {
  producer.writer = trace.add_process(start, producer.parent);
  producer.pid = start.pid;
  pids.insert(start.pid);
  follow_first(producer, start);
  producer.mapped_files.set_process(start.pid, start.origin == ProcessOrigin::forked);
  producer.last_flush = now_ms();
  producer.ring.settle(producer.writer->settled());
  producer.ring.move_to(fmt::format("{}/{}/{}", trace.path(), producer.writer->name(), kRingFile));
}

// How the first process ends, the last of its programs says.
void LogConsumer::State::follow_first(Producer& producer, const StartInput& start) {
  bool goes_on =
      start.origin == ProcessOrigin::execed && start.pid == first_pid && producer.parent == first_name;
  if (&producer != first && !goes_on) return;
  first = &producer;
  first_name = producer.writer->name();
  first_pid = start.pid;
  first_exit.reset();
  first_gave_up.clear();
}

// This process's log cannot go on.
void LogConsumer::State::fail(Producer& producer, LogClose how, LogStop reason) {
  producer.ignored = true;
  producer.ring.stop(reason);
  close(producer, how);
}

// Nothing can be written any more. What is on disk stays, and the files of the rings are there: they have had
// their room from the beginning. What is in buffers is lost only where a ring is no file.
void LogConsumer::State::write_failed(const std::string& what) {
  if (stopped == LogStop::disk_full) return;
  failure = what;
  stop(LogStop::disk_full);
  trace.release_reserve();
  for (Producer& producer : producers) {
    if (producer.ignored) continue;
    producer.ignored = true;
    try {
      keep_ring(producer);
      if (producer.writer != nullptr && !producer.kept) producer.writer->abandon(LogClose::disk_full);
    } catch (const std::system_error&) {
      // Without its last block the log reads as cut off, at the same place.
    }
  }
}

void LogConsumer::State::keep_ring(Producer& producer) {
  if (!producer.ring.has_file()) return;
  if (producer.writer == nullptr) {
    // What the reserve has given back is enough for the first files of some processes.
    bool sound;
    std::span<const uint8_t> available = producer.ring.available(sound);
    DecodedFrame start;
    if (!decode_frame(available, producer.ring.position(), start) || start.is_chunk ||
        start.input.kind() != InputKind::start)
      return;
    begin_log(producer, start.input.as<StartInput>());
  }
  producer.ring.keep(LogClose::disk_full);
  producer.kept = true;
}

void LogConsumer::State::stop(LogStop reason) {
  if (stopped == LogStop::none) stopped = reason;
  for (Producer& producer : producers)
    producer.ring.stop(stopped);
}

void LogConsumer::State::close(Producer& producer, LogClose otherwise) {
  if (producer.writer == nullptr || stopped == LogStop::disk_full) return;
  // The recorder has killed it, or told it to end.
  if (stopped == LogStop::requested && otherwise == LogClose::producer_died) otherwise = LogClose::stopped;
  try {
    producer.writer->close(producer.exited    ? LogClose::finished
                           : producer.gave_up ? LogClose::gave_up
                                              : otherwise);
  } catch (const std::system_error& error) {
    write_failed(error.what());
  }
}

ControlReply LogConsumer::State::store(Producer& producer, ControlRequest& request) {
  ControlReply reply = {};
  // What is changed from here on is told to the process; the copy has what was changed before.
  file_changes.map(producer.mapped_files, request.fd.get());
  try {
    reply.file = trace.files().add(request.fd.get());
    trace.note_file(reply.file, request.text);
  } catch (const std::system_error& error) {
    reply.error = static_cast<uint32_t>(error.code().value());
    if (is_write_failure(error.code())) write_failed(error.what());
  } catch (const UserError&) {
    reply.error = EINVAL;
  }
  return reply;
}

// Notes which files a process has mapped, and finds one that stands in its way.
void LogConsumer::State::share(Producer& producer, const ControlRequest& request, ControlReply& reply) {
  std::vector<SharedFile>& files = producer.shared_files;
  if (request.time == 0) files.clear();
  size_t told = files.size();
  files.resize(told + request.text.size() / sizeof(SharedFile));
  if (files.size() > told)
    std::memcpy(&files[told], request.text.data(), (files.size() - told) * sizeof(SharedFile));
  auto in_the_way = [](const SharedFile& mine, const SharedFile& other) {
    bool same_file = other.device == mine.device && other.inode == mine.inode;
    bool same_area = other.area == mine.area && mine.area != 0;
    return same_file && !same_area && (mine.writable != 0 || other.writable != 0);
  };
  for (const Producer& other : producers) {
    if (&other == &producer || other.writer == nullptr) continue;
    for (size_t i = told; i < files.size(); ++i) {
      bool any = std::ranges::any_of(other.shared_files,
                                     [&](const SharedFile& file) { return in_the_way(files[i], file); });
      if (!any || is_gone(other)) continue;
      reply.process = static_cast<int32_t>(std::strtol(other.writer->name().c_str(), nullptr, 10));
      reply.which = i;
      return;
    }
  }
}

void LogConsumer::State::change_file(Producer& producer, const ControlRequest& request, ControlReply& reply) {
  FilePart part;
  std::memcpy(&part, request.text.data(), std::min(sizeof part, request.text.size()));
  MappedFiles& own = producer.mapped_files;
  switch (request.kind) {
  case ControlKind::begin_file_change:
    reply.which = file_changes.begin(own, part);
    return;
  case ControlKind::holding_process:
    reply.process = own.held_process(request.time);
    return;
  case ControlKind::end_file_change:
    file_changes.end(own, part);
    return;
  default:
    reply.process = own.take_change(reply.part) ? 1 : 0;
  }
}

ControlReply LogConsumer::State::handle(Producer& producer, ControlRequest& request, ProducerEnds& ends) {
  ControlReply reply = {};
  switch (request.kind) {
  case ControlKind::doorbell:
    break;
  case ControlKind::drain:
    drain(producer);
    settle(producer);
    if (producer.ignored) reply.error = EIO;
    break;
  case ControlKind::store_file:
    return store(producer, request);
  case ControlKind::end_all:
    // What the process has logged so far counts.
    drain(producer);
    if (failure.empty()) failure = request.text;
    stop(LogStop::requested);
    break;
  case ControlKind::give_up:
    drain(producer); // its start may still be in its ring
    producer.gave_up = true;
    if (first == &producer) first_gave_up = request.text;
    break;
  case ControlKind::shared_files:
    share(producer, request, reply);
    break;
  case ControlKind::is_recorded:
    for (Producer& other : producers)
      drain(other); // its start may still be in its ring
    reply.process = request.time == 0 ? pids.size() > 1 : pids.contains(static_cast<int32_t>(request.time));
    break;
  case ControlKind::begin_file_change:
    for (Producer& other : producers)
      drain(other); // its start, or its end, may still be in its ring
    [[fallthrough]];
  case ControlKind::holding_process:
  case ControlKind::end_file_change:
  case ControlKind::take_file_change:
    change_file(producer, request, reply);
    break;
  case ControlKind::new_ring:
    try {
      // The parent's start may still be in its ring, and the child's folder names the parent's.
      drain(producer);
      ends = add(&producer);
    } catch (const Limit&) {
      reply.error = EAGAIN;
    } catch (const std::system_error& error) {
      reply.error = static_cast<uint32_t>(error.code().value());
    }
    break;
  }
  return reply;
}

// Reads the messages of a process and replies to those that want it.
void LogConsumer::State::answer(Producer& producer) {
  for (int i = 0; i < kMessagesPerPump; ++i) {
    ControlRequest request;
    ReceiveResult result = receive_request(producer.control.get(), request);
    if (result == ReceiveResult::closed) producer.hung_up = true;
    if (result == ReceiveResult::closed || result == ReceiveResult::nothing) return;
    if (result == ReceiveResult::malformed) continue;
    ProducerEnds ends;
    ControlReply reply = handle(producer, request, ends);
    if (request.kind == ControlKind::doorbell) continue;
    send_reply(producer.control.get(), reply, ends);
    LogProducer::close_ends(ends);
  }
}

void LogConsumer::State::flush_where_due() {
  size_t buffers = 0;
  for (Producer& producer : producers)
    if (producer.writer != nullptr) buffers += producer.writer->memory();
  bool scarce = buffers > memory / 16;
  uint64_t now = now_ms();
  for (Producer& producer : producers) {
    if (producer.writer == nullptr || producer.ignored) continue;
    if (!scarce && now - producer.last_flush < kFlushPeriodMs) continue;
    settle(producer);
    if (producer.ignored) return;
    producer.writer->release_buffers();
  }
}

ProducerEnds LogConsumer::open_process() {
  return state_->add(nullptr);
}

void LogConsumer::forget_in_child() {
  state_->producers.clear();
  state_->epoll = OwnedFd();
}

int LogConsumer::fd() const {
  return state_->epoll.get();
}

int LogConsumer::timeout_ms() const {
  return idle() ? -1 : state_->wait_ms;
}

void LogConsumer::pump() {
  State& s = *state_;
  epoll_event events[64];
  int count = epoll_wait(s.epoll.get(), events, std::size(events), 0);
  for (int i = 0; i < count; ++i)
    s.answer(*static_cast<Producer*>(events[i].data.ptr));
  bool any = count > 0;
  for (auto it = s.producers.begin(); it != s.producers.end();) {
    any |= s.drain(*it);
    // Hung up before this drain: whatever it wrote has been seen.
    if (it->hung_up && !s.drain(*it)) {
      s.close(*it, LogClose::producer_died);
      if (!it->kept) it->ring.remove_file();
      s.ring_bytes -= it->ring.capacity();
      if (s.first == &*it) s.first = nullptr;
      s.file_changes.remove(it->mapped_files);
      it = s.producers.erase(it);
    } else {
      ++it;
    }
  }
  s.flush_where_due();
  s.wait_ms = any ? kShortestWaitMs : std::min(s.wait_ms * 2, kLongestWaitMs);
}

std::vector<int32_t> LogConsumer::processes() const {
  std::vector<int32_t> result;
  for (const Producer& producer : state_->producers)
    if (producer.writer != nullptr && !is_gone(producer) && has_ring(producer.pid, producer.writer->name()))
      result.push_back(producer.pid);
  return result;
}

bool LogConsumer::has_recorded(int32_t pid) const {
  return state_->pids.contains(pid);
}

bool LogConsumer::idle() const {
  return state_->producers.empty();
}
void LogConsumer::stop(LogStop reason) {
  state_->stop(reason);
}
LogStop LogConsumer::stopped() const {
  return state_->stopped;
}
const std::string& LogConsumer::failure() const {
  return state_->failure;
}
const std::optional<ExitInput>& LogConsumer::exit() const {
  return state_->first_exit;
}

const std::string& LogConsumer::gave_up() const {
  return state_->first_gave_up;
}

void LogConsumer::finish() {
  State& s = *state_;
  pump();
  if (!s.producers.empty()) stop(LogStop::requested);
  for (Producer& producer : s.producers) {
    while (s.drain(producer) && producer.kept) {
    }
    s.close(producer, LogClose::stopped);
    if (!producer.kept) producer.ring.remove_file();
  }
  s.producers.clear();
  s.ring_bytes = 0;
}

} // namespace rdb::trace
