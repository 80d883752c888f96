// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the commands show what is in a trace: amounts, moments, and inputs as one line each.
#pragma once

#include "rdbtool/trace/trace_reader.h"

#include <string>

namespace rdb::cli {

std::string bytes_text(uint64_t bytes);          // "3.4 MiB"
std::string count_text(uint64_t count);          // "12.3M"
std::string moment_text(uint64_t unix_ns);       // "2026-01-31 12:59:01", local time
std::string shell_text(const std::string& word); // quoted if a shell would need it

// One line, without its newline: position, thread, kind, what it says.
std::string input_text(const trace::Input& input);

// What became of a recording: "exit 0", "SIGSEGV", "recording" while it goes on, "killed" if the recorder
// was.
std::string state_text(const trace::TraceReader& trace);

// Instructions that were executed in one program, or in all of them.
uint64_t length_of(const trace::TraceReader& trace, const trace::ProcessInfo& process);
uint64_t length_of(const trace::TraceReader& trace);

} // namespace rdb::cli
