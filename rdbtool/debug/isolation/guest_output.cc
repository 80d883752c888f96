// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/isolation/guest_output.h"

#include "rdbtool/base/own_memory.h"
#include "rdbtool/debug/isolation/guest_libc.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>

namespace rdb::debug {
namespace {

// In a FILE of glibc.
constexpr uint64_t kWaiting = 32; // where what waits begins and ends
constexpr uint64_t kDescriptor = 112;

struct BufferedOutput {
  uint64_t begin = 0, end = 0;
};

// Also of debug code's memory and the stack that such functions run on.
size_t read_memory(uint64_t from, void* to, size_t size) {
  return read_own_memory(reinterpret_cast<const void*>(from), to, size);
}

BufferedOutput waiting_in(uint64_t file) {
  BufferedOutput result;
  std::memcpy(&result, reinterpret_cast<const void*>(file + kWaiting), sizeof result);
  return result;
}

FILE* own_stream(size_t index) {
  return index == 0 ? stdout : stderr;
}

// How much could be read.
uint64_t show(FILE* to, uint64_t from, uint64_t size) {
  char text[4096];
  uint64_t done = 0;
  while (done < size) {
    size_t n = read_memory(from + done, text, std::min<uint64_t>(size - done, sizeof text));
    if (n == 0) break;
    std::fwrite(text, 1, n, to);
    done += n;
  }
  return done;
}

} // namespace

void GuestOutput::begin() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    StandardStream& stream = streams_[i];
    stream = {};
    uint64_t file = libc_.stream(i == 0 ? GuestLibc::Stream::output : GuestLibc::Stream::error);
    if (file == 0) continue;
    int descriptor;
    std::memcpy(&descriptor, reinterpret_cast<const void*>(file + kDescriptor), sizeof descriptor);
    if (descriptor != static_cast<int>(i) + 1) continue; // closed, or something else by now
    BufferedOutput waiting = waiting_in(file);
    stream = {file, waiting.begin, waiting.end};
  }
}

void GuestOutput::show_waiting() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    StandardStream& stream = streams_[i];
    if (stream.file == 0) continue;
    BufferedOutput waiting = waiting_in(stream.file);
    if (!stream.written && waiting.end == stream.shown) continue;
    uint64_t from = !stream.written && waiting.begin == stream.begin ? stream.shown : waiting.begin;
    if (from < waiting.end) show(own_stream(i), from, waiting.end - from);
    stream = {stream.file, waiting.begin, waiting.end};
  }
}

// What the buffer holds is written from its beginning.
int64_t GuestOutput::write_piece(StandardStream& stream, FILE* to, uint64_t from, uint64_t size) {
  uint64_t own = 0;
  if (stream.file != 0 && !stream.written && from == stream.begin && stream.shown > stream.begin) {
    own = std::min(size, stream.shown - stream.begin);
    stream.begin += own;
    stream.written = stream.begin == stream.shown;
  }
  return static_cast<int64_t>(own + show(to, from + own, size - own));
}

int64_t GuestOutput::write(int descriptor, uint64_t from, uint64_t count, bool vectors) {
  auto index = static_cast<size_t>(descriptor - 1);
  StandardStream& stream = streams_[index];
  FILE* to = own_stream(index);
  if (!vectors) {
    int64_t done = write_piece(stream, to, from, count);
    return done == 0 && count != 0 ? -EFAULT : done;
  }
  int64_t done = 0;
  for (uint64_t i = 0; i < count; ++i) {
    iovec piece;
    if (read_memory(from + i * sizeof piece, &piece, sizeof piece) != sizeof piece)
      return done == 0 ? -EFAULT : done;
    done += write_piece(stream, to, reinterpret_cast<uint64_t>(piece.iov_base), piece.iov_len);
  }
  return done;
}

} // namespace rdb::debug
