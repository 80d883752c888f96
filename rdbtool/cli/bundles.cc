// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/bundles.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/path.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/debug/regions/program_file.h"

#include <filesystem>
#include <set>
#include <sys/stat.h>

namespace rdb::cli {
namespace {

// The bundle that rdb-clang left beside a program or library, if only the user and root can change it and it
// fits what is in `file`.
std::unique_ptr<debug::Bundle> bundle_beside(const std::string& program, const std::string& file) {
  std::string path = program + ".rdb";
  struct stat info;
  if (lstat((path + "/descriptors").c_str(), &info) != 0) return nullptr;
  std::string why = debug::Bundle::why_not_trusted(path);
  if (!why.empty()) {
    print_error("rdb: not using {}: {}\n", path, why);
    return nullptr;
  }
  auto bundle = std::make_unique<debug::Bundle>(path);
  try {
    why = bundle->mismatch(debug::ProgramFile(file));
  } catch (const elf::Error& error) {
    why = error.what();
  }
  if (!why.empty()) {
    print_error("rdb: not using {}: {}\n", path, why);
    return nullptr;
  }
  print_error("rdb: running the debug regions of {}\n", path);
  bundle->set_found_by_itself();
  return bundle;
}

bool is_library(std::string_view path) {
  return path.starts_with('/') && base_name(path).find(".so") != std::string_view::npos;
}

std::string in_one_line(std::string text) {
  constexpr std::string_view kNextLine = "\n  ";
  for (size_t end; (end = text.find(kNextLine)) != std::string::npos;)
    text.replace(end, kNextLine.size(), "; ");
  return text;
}

// A bundle that was asked for must belong to something that was recorded. The files are known only if the
// recording was finished.
void check_recorded(const debug::Bundle& bundle, const trace::TraceReader& trace) {
  const std::vector<trace::MappedFile>& files = trace.metadata().files;
  if (files.empty()) return;
  std::string mismatch;
  std::set<trace::ContentId> seen;
  for (const trace::MappedFile& file : files) {
    if (!seen.insert(file.content).second) continue;
    try {
      debug::ProgramFile program(trace.files().path_of(file.content));
      if (bundle.fits(program)) return;
      if (base_name(file.path) == bundle.program()) mismatch = bundle.mismatch(program);
    } catch (const elf::Error&) {
      continue; // it is no program
    }
  }
  if (!mismatch.empty()) user_error("{}", in_one_line(mismatch));
  user_error("-m {}: the recording has no {}, nor the same program or library under another name",
             bundle.path(), bundle.program());
}

// Where the program is looked for. One that was recorded by a relative path is in the directory that it was
// recorded in; if it is not there any more, or on another machine, it may be in the current one.
std::vector<std::string> places_of(const std::string& program, const std::string& directory) {
  if (program.starts_with('/') || directory.empty()) return {program};
  std::error_code error;
  if (std::filesystem::equivalent(directory, ".", error)) return {program};
  return {directory + "/" + program, program};
}

} // namespace

Bundles choose_bundles(const std::vector<std::string>& paths, const std::string& program,
                       const trace::TraceReader& trace) {
  Bundles bundles;
  std::error_code error;
  for (size_t i = 0; i < paths.size(); ++i) {
    for (size_t k = 0; k < i; ++k)
      if (std::filesystem::equivalent(paths[k], paths[i], error))
        user_error("-m {}: the same bundle as -m {}", paths[i], paths[k]);
    bundles.push_back(std::make_unique<debug::Bundle>(paths[i]));
    check_recorded(*bundles.back(), trace);
  }
  if (!paths.empty() || program.empty()) return bundles;
  auto look = [&](const std::string& beside, const std::string& file) {
    auto bundle = bundle_beside(beside, file);
    if (bundle == nullptr) return false;
    bundles.push_back(std::move(bundle));
    return true;
  };
  for (const std::string& place : places_of(program, trace.metadata().directory))
    if (look(place, place)) break;
  for (const trace::MappedFile& file : trace.metadata().files)
    if (is_library(file.path)) look(file.path, trace.files().path_of(file.content));
  return bundles;
}

} // namespace rdb::cli
