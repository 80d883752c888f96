// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a trace says about itself, in metadata.json: what ran, where, on which CPU, with which seeds, how it
// ended. Written once as "running" when a recording begins and replaced atomically when it ends.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/trace/format/input.h"

#include <optional>
#include <string>
#include <vector>

namespace rdb::trace {

// Of all files of a new trace.
inline constexpr uint32_t kFormatVersion = 6;
// A reader takes those from here on and refuses any other. In version 5, no call has
// SyscallInput::checks_data.
inline constexpr uint32_t kOldestFormatVersion = 5;
constexpr bool is_readable_version(uint32_t version) {
  return version >= kOldestFormatVersion && version <= kFormatVersion;
}

struct CpuInfo {
  std::string vendor; // "GenuineIntel", "AuthenticAMD" ...
  uint32_t family = 0;
  uint32_t model = 0;
  uint32_t stepping = 0;
  std::vector<std::string> features; // sorted; names as in /proc/cpuinfo

  static CpuInfo of_this_machine();
};

enum class TraceState : uint8_t {
  running,  // being recorded, or its recorder was killed
  finished, // `end` is known
};

enum class EndKind : uint8_t {
  exited,    // status: the exit status
  signalled, // status: the signal
  stopped,   // the user ended the recording, the program went on or was killed
  disk_full, // the log could not be written further
  failed,    // rdb could not go on; `reason` says why
};

struct TraceEnd {
  EndKind kind = EndKind::exited;
  int32_t status = 0;
  std::string reason;   // for people; empty when kind and status say it all
  uint64_t unix_ns = 0; // when

  // "exit 0", "SIGSEGV", "disk full" ...: a few words for a table.
  std::string summary() const;
};

// A file in the store and the name it was mapped under.
struct MappedFile {
  ContentId content;
  std::string path;
  std::string build_id; // lower-case hex; empty if it has none
};

// How many versions there are of the rules for the guest's addresses (guest/memory/layout.h).
inline constexpr uint32_t kLayoutVersions = 2;
// Where the guest's stack and mappings end on nearly all machines.
inline constexpr uint64_t kUsualTop = 0x7EF000000000;

struct Metadata {
  uint32_t format = kFormatVersion;
  std::string rdb_version;
  std::string id;                   // 32 hex digits, random: the files of a trace know each other by it
  std::string program;              // the executable as found
  std::vector<std::string> command; // argv
  std::vector<std::string> environment;
  std::string directory; // working directory
  uint64_t started_unix_ns = 0;
  std::string kernel; // uname -r
  CpuInfo cpu;
  uint32_t layout_version = 1;     // rules for the guest's addresses; of traces that do not say: 1
  uint64_t layout_top = kUsualTop; // where the guest's stack and mappings end
  uint64_t layout_seed = 0;
  bool aslr = true;
  std::optional<uint64_t> chaos_seed;
  bool checksums = false;
  TraceState state = TraceState::running;
  TraceEnd end;                  // when finished
  std::vector<MappedFile> files; // when finished

  std::string to_json() const;
  // Throws UserError naming `path` and what is wrong.
  static Metadata from_json(std::string_view text, const std::string& path);
};

// Throws UserError if a trace recorded on `recorded` cannot be replayed exactly on `here`: another vendor, or
// a feature that the program saw and this CPU lacks. A replay calls it; looking at a trace works anywhere.
void check_cpu(const CpuInfo& recorded, const CpuInfo& here, const std::string& trace);

} // namespace rdb::trace
