// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program side of recording: appends inputs and chunks to a ring of shared memory that the rdb record
// parent drains (log_consumer.h). Runs inside the guest's process, possibly with the guest's FS base and
// vector registers in place: no malloc, no libc, no TLS, no stack protector, general registers only, raw
// system calls.
//
// One thread at a time may call (the baton sees to it). Nothing here throws. Once an append has returned
// false the log is closed for this process: stop_reason() says why, and the record driver ends the recording.
#pragma once

#include "rdbtool/trace/format/input.h"

#include <atomic>

namespace rdb::trace {

struct RingHeader;
struct ControlReply;
enum class ControlKind : uint32_t;

enum class LogStop : uint32_t {
  none = 0,          // recording
  disk_full = 1,     // the consumer could not write; what was written before is kept
  consumer_gone = 2, // the rdb record parent died
  requested = 3,     // the consumer was told to stop (a second Ctrl-C, a limit)
  damaged = 4,       // the ring holds what no producer wrote
};

// The descriptors a process records through; made by LogConsumer, inherited over fork or exec.
struct ProducerEnds {
  int ring_fd = -1;
  int control_fd = -1;
};

// A file that a process has mapped shared. Processes that have it by the same mapping, which one of them
// inherited, name the same area.
struct SharedFile {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t area = 0; // 0: none that others could have
  uint64_t writable = 0;
  bool operator==(const SharedFile&) const = default;
};

// The part of a ring through which a process learns that others change files that it has mapped, and that
// others have mapped files that it may change (file_changes.h). The consumer writes it.
struct FileFlags {
  std::atomic<uint32_t> holds;   // how many processes are changing a file that this one has mapped
  std::atomic<uint32_t> changes; // how many have done so
  static constexpr size_t kFilterBits = 1 << 14;
  std::atomic<uint64_t> mapped[kFilterBits / 64]; // one bit, bit_of(), for each file that others have mapped
};

// A part of a file; sent as it is.
struct FilePart {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  static constexpr uint32_t bit_of(uint64_t device, uint64_t inode) {
    uint64_t mixed = (inode + device * 0x9E3779B185EBCA87) * 0xC2B2AE3D27D4EB4F;
    return static_cast<uint32_t>(mixed >> 50);
  }
};
static_assert(FilePart::bit_of(~uint64_t{0}, ~uint64_t{0}) < FileFlags::kFilterBits);

class LogProducer {
public:
  // Maps the ring. False if the descriptors are not a ring and its control socket.
  bool attach(ProducerEnds ends);
  bool attached() const { return header_ != nullptr; }

  // Appends one input; tens of nanoseconds plus the copy of the bytes. Waits while the ring is full. Times
  // never go back. The first input is a StartInput. Large writes are split into records as input.h describes.
  bool append(ThreadId thread, Time time, const StartInput& start, const MemoryWrite* writes = nullptr,
              size_t count = 0);
  bool append(ThreadId thread, Time time, const SyscallInput& call, const MemoryWrite* writes = nullptr,
              size_t count = 0);
  bool append(ThreadId thread, Time time, const SignalInput& signal, const MemoryWrite* writes = nullptr,
              size_t count = 0);
  bool append(ThreadId thread, Time time, const PartialInput& partial, const MemoryWrite* writes = nullptr,
              size_t count = 0);
  bool append(ThreadId thread, Time time, const InstructionInput& result);
  bool append(ThreadId thread, Time time, const MemoryInput& memory, const MemoryWrite* writes, size_t count);
  bool append(ThreadId thread, Time time, const MapInput& map);
  bool append(ThreadId thread, Time time, const ChecksumInput& checksum);
  bool append(ThreadId thread, Time time, const OutputInput& output);
  bool append(ThreadId thread, Time time, const ThreadStartInput& start);
  bool append(ThreadId thread, Time time, const ThreadEndInput& end);
  bool append(ThreadId thread, Time time, const ExitInput& exit);

  // The turn of `thread` is over after `instructions`. The inputs of that turn have been appended before.
  bool append(const Chunk& chunk);

  // Wakes the consumer to write out what there is; does not wait. Called before the process ends.
  void flush();
  // flush() and waits until the consumer has taken everything: after this, kill -9 of this process loses
  // nothing.
  bool drain();

  // Has the consumer copy the file behind `fd` into the trace, now. False if it cannot (see stop_reason; a
  // file that cannot be read at all leaves recording on).
  bool store_file(int fd, const char* path, ContentId* id);

  // Before a guest fork or exec: a new ring for the child or the new image. `time` is the moment of the call.
  // After fork the child detaches from its parent's ring and attaches to these ends; the parent closes them.
  // Before exec the driver passes the two descriptors on (both are close-on-exec; clear that) and the new
  // image attaches to them.
  bool prepare_child(ProcessOrigin origin, Time time, ProducerEnds* ends);
  static void close_ends(ProducerEnds ends);

  // Tells the consumer all files that the process has mapped shared. The process that has one
  // of them too, `which` says of which, one of both writable, by another mapping; 0 if there is none.
  int32_t share_files(const SharedFile* files, size_t count, size_t& which);
  // Whether this process is or was recorded together with the own one; 0: whether any was.
  bool is_recorded(int32_t process);

  // Whether another recorded process may have this file mapped: costs nothing, and is mostly right.
  [[gnu::always_inline]] bool may_be_mapped(uint32_t bit) const {
    return flags_ != nullptr &&
           (flags_->mapped[bit / 64].load(std::memory_order_acquire) >> bit % 64 & 1) != 0;
  }
  // Before this process changes a file: how many others have it mapped. Those go on holding on between two
  // instructions, or coming back from a call, until end_file_change().
  size_t begin_file_change(uint64_t device, uint64_t inode);
  int32_t holding_process(size_t index); // 0: it is not running yet, or gone
  // What was changed; nothing if begin == end.
  void end_file_change(const FilePart& part);
  // Whether others are changing files that this process has mapped, or have done so.
  [[gnu::always_inline]] bool is_disturbed() const {
    return flags_ != nullptr && (flags_->holds.load(std::memory_order_acquire) != 0 ||
                                 flags_->changes.load(std::memory_order_acquire) != changes_taken_);
  }
  // Waits until they have done so. Then what they have changed, one after the other, until there is no more.
  void wait_for_file_changes();
  bool take_file_change(FilePart& part);

  // The recording cannot go on, for none of its processes: the consumer stops them all.
  void end_all(const char* why);
  // The recording of this process cannot go on.
  void give_up(const char* why);

  // Unmaps the ring and closes the descriptors.
  void detach();

  // Checked by append; the driver may also look now and then.
  LogStop stop_reason() const;
  ProducerEnds ends() const { return ends_; }

private:
  struct Part;
  bool append_parts(ThreadId thread, Time time, InputKind kind, const Part& payload, const void* text,
                    size_t text_size, const MemoryWrite* writes, size_t count);
  uint8_t* reserve(size_t size);
  void commit(uint8_t* frame, size_t size);
  bool wait_for(uint64_t free_bytes);
  bool consumer_gone();
  bool request_with_text(ControlKind kind, const char* text, int fd, ControlReply& reply);
  bool request_with_part(ControlKind kind, const FilePart& part, ControlReply& reply);
  bool request(const void* message, size_t size, int pass_fd, void* reply, size_t reply_size, int* fds);

  RingHeader* header_ = nullptr;
  uint8_t* data_ = nullptr; // mapped twice in a row, so that no record wraps
  uint64_t capacity_ = 0;
  uint64_t head_ = 0;      // next byte to write; the ring's own copy follows on commit
  uint64_t tail_seen_ = 0; // the consumer's position when last looked at
  uint64_t bell_at_ = 0;   // ring the doorbell when head_ gets here
  FileFlags* flags_ = nullptr;
  uint32_t changes_taken_ = 0;
  ProducerEnds ends_;
  LogStop stopped_ = LogStop::none;
};

} // namespace rdb::trace
