// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/base/log.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/ranges.h>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace rdb {
namespace {

constexpr std::string_view kTopics[] = {"engine", "guest", "record", "replay", "trace", "debug", "gdb"};

int stream = STDERR_FILENO;

} // namespace

uint32_t log_state::wanted = 0;

void log_state::write_line(Topic topic, std::string_view text) {
  std::string line = fmt::format("rdb[{}] {}: {}\n", getpid(), kTopics[static_cast<size_t>(topic)],
                                 visible_text(std::string(text)));
  // One write, so that lines of several processes do not mix.
  [[maybe_unused]] ssize_t ignored = write(stream, line.data(), line.size());
}

void start_log() {
  const char* words = std::getenv("RDB_LOG");
  if (words == nullptr) return;
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) {
    const auto* topic = std::ranges::find(kTopics, word);
    if (word == "all")
      log_state::wanted = UINT32_MAX;
    else if (topic != std::end(kTopics))
      log_state::wanted |= 1u << (topic - kTopics);
    else
      user_error("RDB_LOG: there is no topic '{}'; there are {} and all", word, fmt::join(kTopics, ", "));
  }
}

void set_log_stream(int fd) {
  stream = fd;
}

} // namespace rdb
