// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb does inside, one line each, for its maintainers: RDB_LOG=engine,record rdb record ... prints the
// lines of these topics to standard error; RDB_LOG=all prints all. Code that runs in the guest's context (the
// fast paths) cannot log: it has no FS base of its own.
//
//   log_line(Topic::record, "call {} gave {}", name, result);
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace rdb {

enum class Topic : uint8_t { engine, guest, record, replay, trace, debug, gdb };

namespace log_state {
extern uint32_t wanted; // a bit for each topic
void write_line(Topic topic, std::string_view text);
} // namespace log_state

// Takes the topics from RDB_LOG. Throws UserError for a word that is no topic.
void start_log();
// Where lines go from here on: a program under rdb may have closed or replaced descriptor 2.
void set_log_stream(int fd);

inline bool logs(Topic topic) {
  return log_state::wanted >> static_cast<unsigned>(topic) & 1;
}

template <class... Args>
void log_line(Topic topic, fmt::format_string<Args...> format, Args&&... args) {
  if (logs(topic)) [[unlikely]]
    log_state::write_line(topic, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace rdb
