// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/trace/ring_file.h"

#include "rdbtool/base/error.h"
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/frame_decoder.h"
#include "rdbtool/trace/process_writer_state.h"

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
  uint64_t capacity = 0;
  uint64_t head = 0;
  uint64_t settlements = 0;
  RingSettled settled;
};

std::optional<RingState> read_state(int fd, uint64_t file_size, const std::string& path) {
  alignas(RingHeader) uint8_t page[kRingHeaderSize];
  if (pread_some(fd, page, sizeof page, 0, path) != sizeof page) return std::nullopt;
  auto word = [&](size_t at) {
    uint64_t value;
    std::memcpy(&value, &page[at], sizeof value);
    return value;
  };
  RingState state;
  state.capacity = word(offsetof(RingHeader, capacity));
  state.head = word(offsetof(RingHeader, head));
  state.settlements = word(offsetof(RingHeader, settlements));
  std::memcpy(&state.settled,
              &page[offsetof(RingHeader, settled) + state.settlements % 2 * sizeof(RingSettled)],
              sizeof state.settled);
  BootId boot;
  std::memcpy(&boot, &page[offsetof(RingHeader, boot)], sizeof boot);
  BootId here = boot_id();
  bool same_boot = here.text[0] != '\0' && std::memcmp(boot.text, here.text, sizeof boot.text) == 0;
  bool sound = word(offsetof(RingHeader, magic)) == kRingMagic && state.capacity >= kMinRing &&
               state.capacity <= kMaxRing && (state.capacity & (state.capacity - 1)) == 0 &&
               file_size >= kRingHeaderSize + state.capacity && state.settlements != 0 &&
               state.head - state.settled.tail <= state.capacity;
  if (!sound || !same_boot) return std::nullopt;
  return state;
}

// The frames that are not in the log files.
std::optional<std::vector<uint8_t>> read_frames(int fd, const RingState& state, const std::string& path) {
  size_t size = state.head - state.settled.tail;
  std::vector<uint8_t> frames(size);
  size_t begin = state.settled.tail & (state.capacity - 1);
  size_t first = std::min<size_t>(size, state.capacity - begin);
  if (pread_some(fd, frames.data(), first, kRingHeaderSize + begin, path) != first ||
      pread_some(fd, frames.data() + first, size - first, kRingHeaderSize, path) != size - first)
    return std::nullopt;
  return frames;
}

// The log was closed after the ring was last settled: everything is in the file.
bool is_closed(const std::string& path, LogKind kind, const std::string& trace_id) {
  BlockReader blocks(path, kind, trace_id, nullptr);
  if (!blocks.index().empty()) blocks.go_to(blocks.index().size() - 1);
  while (blocks.next()) {
  }
  return blocks.end().kind == LogEnd::Kind::kClosed;
}

} // namespace

// Has the right to look into a ProcessWriter.
struct RingReader {
  static LogTails write(const std::string& folder, const std::string& trace_id, const RingSettled& settled,
                        std::span<const uint8_t> frames) {
    Compressor compressor;
    auto inputs = [&] {
      return BlockWriter(folder + "/inputs", LogKind::kInputs, trace_id, compressor, settled.inputs);
    };
    auto chunks = [&] {
      return BlockWriter(folder + "/chunks", LogKind::kChunks, trace_id, compressor, settled.chunks);
    };
    auto state = std::unique_ptr<ProcessWriter::State>(new ProcessWriter::State{folder,
                                                                                {inputs()},
                                                                                {chunks()},
                                                                                Time(settled.last_time),
                                                                                Time(settled.last_input_time),
                                                                                Time(settled.chunk_time),
                                                                                settled.chunk_count,
                                                                                settled.ordinal,
                                                                                settled.started != 0,
                                                                                settled.inside_input != 0});
    ProcessWriter::State& logs = *state;
    ProcessWriter writer(std::move(state));
    DecodedFrame frame;
    try {
      while (!frames.empty() && decode_frame(frames, frame)) {
        if (frame.is_chunk)
          writer.append(frame.chunk);
        else
          writer.append(frame.input);
        frames = frames.subspan(frame.size);
      }
    } catch (const Bug&) {
      // No record: a wild write of the program has hit the ring. What came before it counts.
    }
    writer.flush();
    auto tail = [](const LogFileState& end, BlockWriter& file) {
      return std::make_shared<const LogTail>(LogTail{end.size, file.take_memory()});
    };
    return {tail(settled.inputs, logs.inputs.file), tail(settled.chunks, logs.chunks.file)};
  }
};

LogTails read_ring(const std::string& folder, const std::string& trace_id) {
  std::string path = folder + "/" + kRingFile;
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!fd || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  auto file_size = static_cast<uint64_t>(status.st_size);
  try {
    for (int i = 0; i < kTries; ++i) {
      std::optional<RingState> before = read_state(fd.get(), file_size, path);
      if (!before) return {};
      std::optional<std::vector<uint8_t>> frames = read_frames(fd.get(), *before, path);
      std::optional<RingState> after = read_state(fd.get(), file_size, path);
      if (!frames || !after) return {};
      if (after->settlements != before->settlements) continue;
      if (is_closed(folder + "/inputs", LogKind::kInputs, trace_id)) return {};
      return RingReader::write(folder, trace_id, before->settled, *frames);
    }
  } catch (const std::system_error&) {
    // Then only the log files can be read.
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
