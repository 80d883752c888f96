// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Deletes a trace, if it surely is one and nothing else is in it.
#include "rdbtool/base/error.h"
#include "rdbtool/base/known_folder.h"
#include "rdbtool/trace/file_io.h"
#include "rdbtool/trace/format/block_format.h"
#include "rdbtool/trace/format/bounded_json.h"
#include "rdbtool/trace/format/process_info.h"
#include "rdbtool/trace/trace_dir.h"
#include "rdbtool/trace/trace_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace fs = std::filesystem;

namespace rdb::trace {
namespace {

bool belongs_to_trace(const std::string& name, bool is_folder) {
  if (is_folder) return is_trace_folder(name);
  size_t slash = name.find('/');
  return is_trace_file(slash == std::string::npos ? "" : name.substr(0, slash), name.substr(slash + 1));
}

// Of this version or another.
bool has_metadata(const std::string& trace) {
  try {
    std::string path = trace + "/metadata.json";
    auto json = parse_bounded_json(read_file(path, kMaxMetadata), path, kMetadataBounds);
    return json.is_object() && json.contains("format") && json["format"].is_number_unsigned() &&
           json.contains("rdb_version") && json.contains("id") && json["id"].is_string() &&
           json["id"].get_ref<const std::string&>().size() == 32;
  } catch (const std::exception&) {
    return false;
  }
}

bool begins_with(const std::string& trace, const std::string& name, const char (&magic)[8]) {
  try {
    char found[sizeof magic] = {};
    OwnedFd fd = open_in_trace(trace, name);
    return pread_some(fd.get(), found, sizeof found, 0, name) == sizeof found &&
           std::equal(found, found + sizeof found, magic);
  } catch (const std::exception&) {
    return false;
  }
}

// A log of rdb's in a folder of a process: what a trace is known by whose metadata are damaged.
bool has_log(const std::string& trace) {
  for (const fs::directory_entry& entry : entries_of(trace)) {
    std::string name = entry.path().filename().string();
    if (is_process_folder(name) && (begins_with(trace, name + "/inputs", kInputsMagic) ||
                                    begins_with(trace, name + "/chunks", kChunksMagic)))
      return true;
  }
  return false;
}

} // namespace

void check_removable(const std::string& path) {
  try {
    std::string stranger = KnownFolder(path, belongs_to_trace).stranger();
    if (!stranger.empty()) user_error("{}: not removed: '{}' in it is no file of a trace", path, stranger);
  } catch (const std::system_error& error) {
    user_error("{}", error.what());
  }
  if (!has_metadata(path) && !has_log(path))
    user_error("{}: not removed: not surely a trace, neither its metadata.json nor a log in it is rdb's",
               path);
  if (int pid = RecorderLock::holder(path); pid != 0)
    user_error("{}: is being recorded by process {}; end that first", path, pid);
}

void remove_trace(const std::string& path) {
  check_removable(path);
  std::error_code error;
  fs::path root = trace_root();
  bool was_latest = fs::equivalent(root / "latest", path, error);
  try {
    KnownFolder(path, belongs_to_trace).remove("metadata.json");
  } catch (const std::system_error& trouble) {
    user_error("{}", trouble.what());
  }
  if (!was_latest) return;
  std::vector<std::string> left = list_traces();
  if (left.empty())
    fs::remove(root / "latest", error);
  else
    set_latest((root / left.back()).string());
}

} // namespace rdb::trace
