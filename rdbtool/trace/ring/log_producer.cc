// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Appending to the ring. This file is compiled for general registers only, without stack protector and
// sanitizers (see CMakeLists.txt), and must not call anything that is not: no memcpy, no exceptions, no
// function-local statics.
#include "rdbtool/trace/ring/log_producer.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/trace/ring/ring.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

namespace rdb::trace {
namespace {

// For fixed structures of a few words: faster than starting up a string instruction. Copies of eight bytes
// are always done in a register.
inline void copy_words(uint8_t* to, const void* from, size_t count) {
  auto* target = reinterpret_cast<volatile uint64_t*>(to);
  for (size_t i = 0; i < count / 8; ++i) {
    uint64_t word;
    __builtin_memcpy(&word, static_cast<const uint8_t*>(from) + i * 8, 8);
    target[i] = word;
  }
}

// A compiler would turn a plain loop into a call of memcpy, which uses vector registers. String instructions
// take a while to start: they are for long ones.
inline void copy_bytes(uint8_t* to, const void* from, size_t count) {
  if (count > 64) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return;
  }
  size_t whole = count & ~size_t{7};
  copy_words(to, from, whole);
  auto* target = reinterpret_cast<volatile uint8_t*>(to);
  for (size_t i = whole; i < count; ++i)
    target[i] = static_cast<const uint8_t*>(from)[i];
}

constexpr int kErrorInterrupted = 4; // EINTR; <cerrno> would drag in the thread's errno

// How long to sleep before looking whether the consumer still lives.
constexpr timespec kLivenessPeriod = {0, 200'000'000};

// The writes of a record that go into one of its frames: whole ones, and the beginning of one that does not
// fit.
struct FrameWrites {
  size_t next = 0;      // the first of them
  size_t skipped = 0;   // bytes of it that went into the frame before
  size_t end = 0;       // after the last of them
  size_t last_part = 0; // bytes of the last one in this frame
  bool cut = false;     // there are more bytes of it

  void go_on() {
    skipped = cut ? (end - 1 == next ? skipped : 0) + last_part : 0;
    next = cut ? end - 1 : end;
  }
};

// Takes as many writes as the frame has room for. `size`: of the frame without them. Returns its size with
// them.
size_t fit_writes(FrameWrites& part, size_t size, size_t limit, const MemoryWrite* writes, size_t count) {
  part.end = part.next;
  part.last_part = 0;
  part.cut = false;
  size_t offset = part.skipped;
  while (part.end < count && !part.cut && size + sizeof(FrameWrite) + 8 <= limit &&
         part.end - part.next < UINT16_MAX) {
    size_t room = (limit - size - sizeof(FrameWrite)) & ~size_t{7};
    part.last_part = writes[part.end].size - offset;
    if (part.last_part > room) {
      part.last_part = room;
      part.cut = true;
    }
    size += sizeof(FrameWrite) + padded(part.last_part);
    ++part.end;
    if (!part.cut) offset = 0;
  }
  return size;
}

void put_writes(uint8_t* at, const FrameWrites& part, const MemoryWrite* writes) {
  for (size_t i = part.next; i < part.end; ++i) {
    size_t from = i == part.next ? part.skipped : 0;
    size_t bytes = i == part.end - 1 ? part.last_part : writes[i].size - from;
    FrameWrite write = {writes[i].address.value + from, bytes};
    copy_words(at, &write, sizeof write);
    at += sizeof write;
    copy_bytes(at, writes[i].data + from, bytes);
    at += padded(bytes);
  }
}

} // namespace

// The fixed part of a payload: whole words. Pointers in it mean nothing to the consumer, who replaces them.
struct LogProducer::Part {
  const void* data;
  size_t size;
};

bool LogProducer::attach(ProducerEnds ends) {
  // The header alone first: it says how much there is.
  long page = raw_syscall(SYS_mmap, 0, kRingHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED,
                          static_cast<uint64_t>(ends.ring_fd), 0);
  if (page < 0 && page > -4096) return false;
  auto* first = reinterpret_cast<RingHeader*>(page);
  uint64_t capacity = first->magic == kRingMagic ? first->capacity : 0;
  raw_syscall(SYS_munmap, static_cast<uint64_t>(page), kRingHeaderSize);
  if (capacity < kMinRing || capacity > kMaxRing || (capacity & (capacity - 1)) != 0) return false;

  // Reserve the whole range, then lay the file over it: header and data, and the data once more after that.
  uint64_t total = kRingHeaderSize + 2 * capacity;
  long base = raw_syscall(SYS_mmap, 0, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                          ~uint64_t{0}, 0);
  if (base < 0 && base > -4096) return false;
  auto at = static_cast<uint64_t>(base);
  auto ring = static_cast<uint64_t>(ends.ring_fd);
  long lower = raw_syscall(SYS_mmap, at, kRingHeaderSize + capacity, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_FIXED, ring, 0);
  long upper = raw_syscall(SYS_mmap, at + kRingHeaderSize + capacity, capacity, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_FIXED, ring, kRingHeaderSize);
  if (lower != base || upper < 0) {
    raw_syscall(SYS_munmap, at, total);
    return false;
  }
  header_ = reinterpret_cast<RingHeader*>(at);
  data_ = reinterpret_cast<uint8_t*>(at + kRingHeaderSize);
  capacity_ = capacity;
  head_ = header_->head.load(std::memory_order_relaxed);
  tail_seen_ = header_->tail.load(std::memory_order_acquire);
  flags_ = &header_->files;
  changes_taken_ = 0;
  bell_at_ = head_ + capacity / 4;
  ends_ = ends;
  stopped_ = LogStop::none;
  return true;
}

void LogProducer::detach() {
  if (header_ == nullptr) return;
  raw_syscall(SYS_munmap, raw_pointer(header_), kRingHeaderSize + 2 * capacity_);
  close_ends(ends_);
  header_ = nullptr;
  data_ = nullptr;
  flags_ = nullptr;
  ends_ = {};
}

void LogProducer::close_ends(ProducerEnds ends) {
  if (ends.ring_fd >= 0) raw_syscall(SYS_close, static_cast<uint64_t>(ends.ring_fd));
  if (ends.control_fd >= 0) raw_syscall(SYS_close, static_cast<uint64_t>(ends.control_fd));
}

LogStop LogProducer::stop_reason() const {
  if (stopped_ != LogStop::none || header_ == nullptr) return stopped_;
  return static_cast<LogStop>(header_->stop.load(std::memory_order_relaxed));
}

// The consumer holds the other end of the socket: when it dies, however it dies, the kernel closes that.
bool LogProducer::consumer_gone() {
  pollfd control = {ends_.control_fd, POLLIN, 0};
  timespec at_once = {};
  long ready = raw_syscall(SYS_ppoll, raw_pointer(&control), 1, raw_pointer(&at_once), 0, 0);
  return ready > 0 && (control.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

bool LogProducer::wait_for(uint64_t free_bytes) {
  for (;;) {
    tail_seen_ = header_->tail.load(std::memory_order_acquire);
    if (capacity_ - (head_ - tail_seen_) >= free_bytes) return true;
    if (stop_reason() != LogStop::none) return false;
    uint32_t ticket = header_->wake.load(std::memory_order_acquire);
    header_->waiting.store(1, std::memory_order_seq_cst);
    // Between the look above and `waiting` the consumer may have made room and seen nobody to wake.
    if (header_->tail.load(std::memory_order_seq_cst) != tail_seen_) continue;
    flush();
    raw_syscall(SYS_futex, raw_pointer(&header_->wake), FUTEX_WAIT, ticket, raw_pointer(&kLivenessPeriod), 0,
                0);
    if (header_->tail.load(std::memory_order_acquire) == tail_seen_ && consumer_gone()) {
      stopped_ = LogStop::consumer_gone;
      return false;
    }
  }
}

// Room for a frame of `size` bytes, or null when recording has stopped.
uint8_t* LogProducer::reserve(size_t size) {
  if (stopped_ != LogStop::none) return nullptr;
  if (header_->stop.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    stopped_ = stop_reason();
    return nullptr;
  }
  if (capacity_ - (head_ - tail_seen_) < size && !wait_for(size)) [[unlikely]] {
    if (stopped_ == LogStop::none) stopped_ = stop_reason();
    return nullptr;
  }
  return data_ + (head_ & (capacity_ - 1));
}

// The frame is whole.
void LogProducer::commit(uint8_t* frame, size_t size) {
  *reinterpret_cast<volatile uint32_t*>(frame) = frame_check(frame, size / 8, head_);
  head_ += size;
  header_->head.store(head_, std::memory_order_release);
  if (head_ >= bell_at_) [[unlikely]]
    flush();
}

void LogProducer::flush() {
  if (header_ == nullptr) return;
  bell_at_ = head_ + capacity_ / 4;
  ControlKind message = ControlKind::doorbell;
  // A full socket means that the consumer has been told often enough.
  raw_syscall(SYS_sendto, static_cast<uint64_t>(ends_.control_fd), raw_pointer(&message), sizeof message,
              MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

bool LogProducer::append_parts(ThreadId thread, Time time, InputKind kind, const Part& payload,
                               const void* text, size_t text_size, const MemoryWrite* writes, size_t count) {
  if (header_ == nullptr) return false;
  const size_t limit = max_frame(capacity_);
  FrameWrites part;
  bool first = true;
  do {
    size_t fixed = sizeof(RingFrame) + (first ? payload.size + padded(text_size) : 0);
    size_t size = fit_writes(part, fixed, limit, writes, count);
    uint8_t* begin = reserve(size);
    if (begin == nullptr) return false;
    RingFrame frame = {0,
                       static_cast<uint16_t>(size / 8),
                       first ? static_cast<uint16_t>(text_size) : uint16_t{0},
                       static_cast<uint8_t>(first ? kind : InputKind::memory),
                       part.cut || part.end < count,
                       static_cast<uint16_t>(part.end - part.next),
                       thread.value,
                       time.value};
    uint8_t* at = begin;
    copy_words(at, &frame, sizeof frame);
    at += sizeof frame;
    if (first) {
      copy_words(at, payload.data, payload.size);
      at += payload.size;
      if (text_size != 0) copy_bytes(at, text, text_size);
      at += padded(text_size);
    }
    put_writes(at, part, writes);
    commit(begin, size);
    part.go_on();
    first = false;
  } while (part.next < count);
  return true;
}

bool LogProducer::append(ThreadId thread, Time time, const StartInput& start, const MemoryWrite* writes,
                         size_t count) {
  size_t size = start.program.size() < kMaxText ? start.program.size() : kMaxText;
  return append_parts(thread, time, InputKind::start, {&start, sizeof start}, start.program.data(), size,
                      writes, count);
}
bool LogProducer::append(ThreadId thread, Time time, const SyscallInput& call, const MemoryWrite* writes,
                         size_t count) {
  return append_parts(thread, time, InputKind::syscall, {&call, sizeof call}, nullptr, 0, writes, count);
}
bool LogProducer::append(ThreadId thread, Time time, const SignalInput& signal, const MemoryWrite* writes,
                         size_t count) {
  return append_parts(thread, time, InputKind::signal, {&signal, sizeof signal}, nullptr, 0, writes, count);
}
bool LogProducer::append(ThreadId thread, Time time, const PartialInput& partial, const MemoryWrite* writes,
                         size_t count) {
  return append_parts(thread, time, InputKind::partial, {&partial, sizeof partial}, partial.vectors.data(),
                      partial.vectors.size(), writes, count);
}
bool LogProducer::append(ThreadId thread, Time time, const InstructionInput& result) {
  return append_parts(thread, time, InputKind::instruction, {&result, sizeof result}, nullptr, 0, nullptr, 0);
}
bool LogProducer::append(ThreadId thread, Time time, const MemoryInput&, const MemoryWrite* writes,
                         size_t count) {
  return append_parts(thread, time, InputKind::memory, {nullptr, 0}, nullptr, 0, writes, count);
}
bool LogProducer::append(ThreadId thread, Time time, const MapInput& map) {
  size_t size = map.path.size() < kMaxText ? map.path.size() : kMaxText;
  return append_parts(thread, time, InputKind::map, {&map, sizeof map}, map.path.data(), size, nullptr, 0);
}
bool LogProducer::append(ThreadId thread, Time time, const ChecksumInput& checksum) {
  return append_parts(thread, time, InputKind::checksum, {&checksum, sizeof checksum}, nullptr, 0, nullptr,
                      0);
}
bool LogProducer::append(ThreadId thread, Time time, const OutputInput& output) {
  // Output of any size, in as many inputs as it takes; nothing depends on where it is split.
  const uint8_t* data = output.bytes.data();
  size_t left = output.bytes.size();
  const size_t piece = max_frame(capacity_) / 2;
  do {
    size_t size = left < piece ? left : piece;
    if (!append_parts(thread, time, InputKind::output, {&output, sizeof output}, data, size, nullptr, 0))
      return false;
    data += size;
    left -= size;
  } while (left != 0);
  return true;
}
bool LogProducer::append(ThreadId thread, Time time, const ThreadStartInput& start) {
  return append_parts(thread, time, InputKind::thread_start, {&start, sizeof start}, nullptr, 0, nullptr, 0);
}
bool LogProducer::append(ThreadId thread, Time time, const ThreadEndInput& end) {
  uint64_t padded_end = static_cast<uint32_t>(end.status);
  return append_parts(thread, time, InputKind::thread_end, {&padded_end, sizeof padded_end}, nullptr, 0,
                      nullptr, 0);
}
bool LogProducer::append(ThreadId thread, Time time, const ExitInput& exit) {
  return append_parts(thread, time, InputKind::exit, {&exit, sizeof exit}, nullptr, 0, nullptr, 0);
}

bool LogProducer::append(const Chunk& chunk) {
  if (header_ == nullptr) return false;
  uint8_t* at = reserve(sizeof(RingFrame));
  if (at == nullptr) return false;
  RingFrame frame = {0, sizeof(RingFrame) / 8, 0, kChunkFrame, 0, 0, chunk.thread.value, chunk.instructions};
  copy_words(at, &frame, sizeof frame);
  commit(at, sizeof frame);
  return true;
}

// Sends a request and waits for its reply. False when the consumer is gone.
bool LogProducer::request(const void* message, size_t size, int pass_fd, void* reply, size_t reply_size,
                          int* fds) {
  if (header_ == nullptr || stopped_ != LogStop::none) return false;
  auto control = static_cast<uint64_t>(ends_.control_fd);
  iovec out = {const_cast<void*>(message), size};
  alignas(cmsghdr) uint8_t ancillary[CMSG_SPACE(2 * sizeof(int))];
  msghdr header = {};
  header.msg_iov = &out;
  header.msg_iovlen = 1;
  if (pass_fd >= 0) {
    header.msg_control = ancillary;
    header.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    __builtin_memcpy(CMSG_DATA(part), &pass_fd, sizeof pass_fd);
  }
  long sent;
  do
    sent = raw_syscall(SYS_sendmsg, control, raw_pointer(&header), MSG_NOSIGNAL);
  while (sent == -kErrorInterrupted);

  iovec in = {reply, reply_size};
  msghdr answer = {};
  answer.msg_iov = &in;
  answer.msg_iovlen = 1;
  answer.msg_control = ancillary;
  answer.msg_controllen = sizeof ancillary;
  long got = -1;
  if (sent == static_cast<long>(size)) {
    do
      got = raw_syscall(SYS_recvmsg, control, raw_pointer(&answer), MSG_CMSG_CLOEXEC);
    while (got == -kErrorInterrupted);
  }
  if (got != static_cast<long>(reply_size)) {
    stopped_ = LogStop::consumer_gone;
    return false;
  }
  if (fds == nullptr) return true;
  cmsghdr* part = CMSG_FIRSTHDR(&answer);
  if (part == nullptr || part->cmsg_len != CMSG_LEN(2 * sizeof(int))) return false;
  __builtin_memcpy(&fds[0], CMSG_DATA(part), sizeof fds[0]);
  __builtin_memcpy(&fds[1], CMSG_DATA(part) + sizeof fds[0], sizeof fds[1]);
  return true;
}

bool LogProducer::drain() {
  ControlKind message = ControlKind::drain;
  ControlReply reply;
  return request(&message, sizeof message, -1, &reply, sizeof reply, nullptr) && reply.error == 0;
}

bool LogProducer::request_with_text(ControlKind kind, const char* text, int fd, ControlReply& reply) {
  // Only the part of the text that is used is sent.
  ControlMessage message;
  message.kind = kind;
  message.origin = ProcessOrigin::spawned;
  message.time = 0;
  message.text_size = 0;
  while (message.text_size < kMaxText && text[message.text_size] != '\0') {
    message.text[message.text_size] = text[message.text_size];
    ++message.text_size;
  }
  size_t size = offsetof(ControlMessage, text) + message.text_size;
  return request(&message, size, fd, &reply, sizeof reply, nullptr) && reply.error == 0;
}

bool LogProducer::store_file(int fd, const char* path, ContentId* id) {
  ControlReply reply;
  if (!request_with_text(ControlKind::store_file, path, fd, reply)) return false;
  *id = reply.file;
  return true;
}

int32_t LogProducer::share_files(const SharedFile* files, size_t count, size_t& which) {
  constexpr size_t kMost = kMaxText / sizeof(SharedFile);
  ControlMessage message;
  message.kind = ControlKind::shared_files;
  message.origin = ProcessOrigin::spawned;
  size_t told = 0;
  do {
    size_t now = count - told < kMost ? count - told : kMost;
    message.time = told;
    message.text_size = static_cast<uint32_t>(now * sizeof(SharedFile));
    copy_bytes(reinterpret_cast<uint8_t*>(message.text), files + told, message.text_size);
    ControlReply reply;
    size_t size = offsetof(ControlMessage, text) + message.text_size;
    if (!request(&message, size, -1, &reply, sizeof reply, nullptr)) return 0;
    which = reply.which;
    if (reply.process != 0) return reply.process;
    told += now;
  } while (told < count);
  return 0;
}

bool LogProducer::is_recorded(int32_t process) {
  ControlMessage message;
  message.kind = ControlKind::is_recorded;
  message.origin = ProcessOrigin::spawned;
  message.time = static_cast<uint32_t>(process);
  message.text_size = 0;
  ControlReply reply;
  return request(&message, offsetof(ControlMessage, text), -1, &reply, sizeof reply, nullptr) &&
         reply.process != 0;
}

bool LogProducer::request_with_part(ControlKind kind, const FilePart& part, ControlReply& reply) {
  ControlMessage message;
  message.kind = kind;
  message.origin = ProcessOrigin::spawned;
  message.time = 0;
  message.text_size = sizeof part;
  copy_bytes(reinterpret_cast<uint8_t*>(message.text), &part, sizeof part);
  size_t size = offsetof(ControlMessage, text) + sizeof part;
  return request(&message, size, -1, &reply, sizeof reply, nullptr);
}

size_t LogProducer::begin_file_change(uint64_t device, uint64_t inode) {
  ControlReply reply;
  return request_with_part(ControlKind::begin_file_change, {device, inode, 0, 0}, reply) ? reply.which : 0;
}

int32_t LogProducer::holding_process(size_t index) {
  ControlMessage message;
  message.kind = ControlKind::holding_process;
  message.origin = ProcessOrigin::spawned;
  message.time = index;
  message.text_size = 0;
  ControlReply reply;
  bool answered = request(&message, offsetof(ControlMessage, text), -1, &reply, sizeof reply, nullptr);
  return answered ? reply.process : 0;
}

void LogProducer::end_file_change(const FilePart& part) {
  ControlReply reply;
  request_with_part(ControlKind::end_file_change, part, reply);
}

void LogProducer::wait_for_file_changes() {
  while (uint32_t holds = flags_->holds.load(std::memory_order_acquire)) {
    if (stop_reason() != LogStop::none) return;
    raw_syscall(SYS_futex, raw_pointer(&flags_->holds), FUTEX_WAIT, holds, raw_pointer(&kLivenessPeriod), 0,
                0);
    if (consumer_gone()) return;
  }
}

bool LogProducer::take_file_change(FilePart& part) {
  if (flags_->changes.load(std::memory_order_acquire) == changes_taken_) return false;
  ControlReply reply;
  FilePart none;
  if (!request_with_part(ControlKind::take_file_change, none, reply) || reply.process == 0) return false;
  ++changes_taken_;
  part = reply.part;
  return true;
}

void LogProducer::end_all(const char* why) {
  ControlReply reply;
  request_with_text(ControlKind::end_all, why, -1, reply);
}

void LogProducer::give_up(const char* why) {
  ControlReply reply;
  request_with_text(ControlKind::give_up, why, -1, reply);
}

bool LogProducer::prepare_child(ProcessOrigin origin, Time time, ProducerEnds* ends) {
  ControlMessage message;
  message.kind = ControlKind::new_ring;
  message.origin = origin;
  message.time = time.value;
  message.text_size = 0;
  ControlReply reply;
  int fds[2] = {-1, -1};
  if (!request(&message, offsetof(ControlMessage, text), -1, &reply, sizeof reply, fds) || reply.error != 0)
    return false;
  *ends = {fds[0], fds[1]};
  return true;
}

} // namespace rdb::trace
