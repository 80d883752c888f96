// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring/ring_file.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/process_writer_state.h"
#include "rdbtool/trace/ring/frame_decoder.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <system_error>

namespace rdb::trace {
namespace {

// The recorder may settle again while the file is being read: then what was read may be torn.
constexpr int kTries = 20;

// The numbers at the beginning of the file, copied out of it once.
struct RingState {
  std::string wrong; // why they are no numbers of a ring; empty: they are
  uint64_t capacity = 0;
  uint64_t head = 0;
  uint64_t settlements = 0;
  bool same_boot = false;
  RingSettled settled;

  uint64_t offset_of(uint64_t position) const { return kRingHeaderSize + (position & (capacity - 1)); }
};

RingState unusable(std::string why) {
  RingState state;
  state.wrong = std::move(why);
  return state;
}

RingState read_state(int fd, uint64_t file_size, const std::string& path) {
  alignas(RingHeader) uint8_t page[kRingHeaderSize];
  if (pread_some(fd, page, sizeof page, 0, path) != sizeof page) return unusable("the file is too short");
  auto copy = [&](size_t at, auto& value) { std::memcpy(&value, &page[at], sizeof value); };
  RingState state;
  uint64_t magic = 0;
  copy(offsetof(RingHeader, magic), magic);
  copy(offsetof(RingHeader, capacity), state.capacity);
  copy(offsetof(RingHeader, head), state.head);
  copy(offsetof(RingHeader, settlements), state.settlements);
  if (magic != kRingMagic) return unusable("not the ring of a log, or one of another version of rdb");
  if (state.capacity < kMinRing || state.capacity > kMaxRing ||
      (state.capacity & (state.capacity - 1)) != 0 || file_size != kRingHeaderSize + state.capacity)
    return unusable("the header contradicts the size of the file");
  // One of the two is being written, perhaps: the newer one that is whole counts.
  bool any = false;
  for (size_t i = 0; i < 2; ++i) {
    RingSettled settled;
    copy(offsetof(RingHeader, settled) + i * sizeof settled, settled);
    bool whole = settled.check == settled.expected_check();
    bool newer = !any || settled.tail > state.settled.tail ||
                 (settled.tail == state.settled.tail && settled.close != 0);
    if (whole && newer) state.settled = settled;
    any |= whole;
  }
  if (!any) return unusable("the checksum of the header does not match");
  BootId boot;
  BootId here = boot_id();
  copy(offsetof(RingHeader, boot), boot);
  state.same_boot = here.text[0] != '\0' && std::memcmp(boot.text, here.text, sizeof boot.text) == 0;
  return state;
}

// All that the ring has room for, from where the log files end. Which of it are frames they tell themselves.
std::optional<std::vector<uint8_t>> read_frames(int fd, const RingState& state, const std::string& path) {
  std::vector<uint8_t> frames(state.capacity);
  size_t begin = state.settled.tail & (state.capacity - 1);
  size_t first = state.capacity - begin;
  if (pread_some(fd, frames.data(), first, kRingHeaderSize + begin, path) != first ||
      pread_some(fd, frames.data() + first, begin, kRingHeaderSize, path) != begin)
    return std::nullopt;
  return frames;
}

// The log was closed after the ring was last settled: everything is in the file.
bool is_closed(const std::string& path, LogKind kind, const std::string& trace_id) {
  BlockReader blocks(path, kind, trace_id, nullptr);
  if (!blocks.index().empty()) blocks.go_to(blocks.index().size() - 1);
  while (blocks.next()) {
  }
  return blocks.end().kind == LogEnd::Kind::closed;
}

// How many records the sound blocks of a log file hold.
uint64_t records_in(const std::string& path, LogKind kind, const std::string& trace_id) {
  BlockReader blocks(path, kind, trace_id, nullptr);
  const std::vector<BlockRef>& index = blocks.index();
  return index.empty() ? 0 : index.back().first_record + index.back().record_count;
}

// Nothing of the ring can be used: the log files are read to their ends, which are these then.
LogTails only_files(const LogEnd& end) {
  auto tail = std::make_shared<const LogTail>(LogTail{UINT64_MAX, {}, end});
  return {tail, tail};
}

LogEnd damaged(const std::string& path, uint64_t offset, std::string reason) {
  return {LogEnd::Kind::damaged, LogClose::finished, Time(0), path, offset, std::move(reason)};
}

} // namespace

// Has the right to look into a ProcessWriter.
class RingReader {
public:
  RingReader(const std::string& folder, const std::string& trace_id, const RingState& ring)
      : folder_(folder), trace_id_(trace_id), ring_(ring) {
    const RingSettled& settled = ring.settled;
    auto log = [&](const char* name, LogKind kind, const LogFileState& end) {
      return BlockWriter(folder + "/" + name, kind, trace_id, compressor_, end);
    };
    auto state = std::unique_ptr<ProcessWriter::State>(
        new ProcessWriter::State{folder,
                                 {log("inputs", LogKind::inputs, settled.inputs)},
                                 {log("chunks", LogKind::chunks, settled.chunks)},
                                 Time(settled.last_time),
                                 Time(settled.last_input_time),
                                 Time(settled.chunk_time),
                                 settled.chunk_count,
                                 settled.ordinal,
                                 settled.started != 0,
                                 settled.inside_input != 0});
    logs_ = state.get();
    writer_.reset(new ProcessWriter(std::move(state)));
  }

  LogTails read(std::span<const uint8_t> frames) {
    std::string wrong = append(frames);
    writer_->flush();
    LogEnd end;
    if (!wrong.empty()) {
      end = damaged(folder_ + "/" + kRingFile, ring_.offset_of(position_), wrong);
      // A crash of the machine has that effect, too.
      if (!ring_.same_boot) end.kind = LogEnd::Kind::cut;
      if (files_have_more()) return only_files(end);
    } else if (ring_.settled.close != 0) {
      writer_->close(exited_ ? LogClose::finished : static_cast<LogClose>(ring_.settled.close));
    }
    auto tail = [&](const LogFileState& begin, BlockWriter& file) {
      return std::make_shared<const LogTail>(LogTail{begin.size, file.take_memory(), end});
    };
    return {tail(ring_.settled.inputs, logs_->inputs.file), tail(ring_.settled.chunks, logs_->chunks.file)};
  }

private:
  // Up to the first that is no frame. Says what is wrong if there were to be more.
  std::string append(std::span<const uint8_t> frames) {
    DecodedFrame frame;
    position_ = ring_.settled.tail;
    try {
      while (decode_frame(frames, position_, frame)) {
        if (frame.is_chunk) {
          writer_->append(frame.chunk);
        } else {
          writer_->append(frame.input);
          exited_ = frame.input.kind() == InputKind::exit;
        }
        frames = frames.subspan(frame.size);
        position_ += frame.size;
      }
    } catch (const Bug&) {
      return "a record contradicts those before it";
    }
    // One more than the header knows may be there: its writer was killed between the two.
    return position_ >= ring_.head ? "" : "the checksum of a record does not match";
  }

  // They may: the last settlement is not that of the newest blocks.
  bool files_have_more() const {
    return records_in(folder_ + "/inputs", LogKind::inputs, trace_id_) > logs_->inputs.file.records() ||
           records_in(folder_ + "/chunks", LogKind::chunks, trace_id_) > logs_->chunks.file.records();
  }

  const std::string& folder_;
  const std::string& trace_id_;
  const RingState& ring_;
  Compressor compressor_;
  ProcessWriter::State* logs_ = nullptr;
  std::unique_ptr<ProcessWriter> writer_;
  uint64_t position_ = 0;
  bool exited_ = false;
};

LogTails read_ring(const std::string& folder, const std::string& trace_id) {
  std::string path = folder + "/" + kRingFile;
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return {};
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return only_files(damaged(path, 0, "not a regular file that can be read"));
  auto file_size = static_cast<uint64_t>(status.st_size);
  try {
    for (int i = 0; i < kTries; ++i) {
      RingState before = read_state(fd.get(), file_size, path);
      if (is_closed(folder + "/inputs", LogKind::inputs, trace_id)) return {};
      if (!before.wrong.empty()) return only_files(damaged(path, 0, before.wrong));
      std::optional<std::vector<uint8_t>> frames = read_frames(fd.get(), before, path);
      RingState after = read_state(fd.get(), file_size, path);
      if (!frames) return only_files(damaged(path, kRingHeaderSize, "the file became shorter"));
      if (after.settlements != before.settlements) continue;
      return RingReader(folder, trace_id, before).read(*frames);
    }
  } catch (const std::system_error& error) {
    return only_files(damaged(path, 0, error.what()));
  }
  return {};
}

BootId boot_id() {
  BootId id = {};
  OwnedFd fd(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (fd) pread_some(fd.get(), id.text, sizeof id.text - 1, 0, "boot id");
  return id;
}

} // namespace rdb::trace
