// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/bundles.h"

#include "rdbtool/base/error.h"
#include "rdbtool/debug/program_file.h"

#include <sys/stat.h>
#include <unistd.h>

namespace rdb::cli {
namespace {

// The bundle that rdb-clang left beside the recorded program, if it is the user's own and fits.
std::unique_ptr<debug::Bundle> bundle_beside(const std::string& program) {
  std::string path = program + ".rdb";
  struct stat info;
  if (stat((path + "/descriptors").c_str(), &info) != 0 || info.st_uid != geteuid()) return nullptr;
  auto bundle = std::make_unique<debug::Bundle>(path);
  std::string why;
  try {
    why = bundle->mismatch(debug::ProgramFile(program));
  } catch (const elf::Error& error) {
    why = error.what();
  }
  if (why.empty()) return bundle;
  fmt::print(stderr, "rdb: not using {}: {}\n", path, why);
  return nullptr;
}

} // namespace

Bundles choose_bundles(const std::vector<std::string>& paths, const std::string& program) {
  Bundles bundles;
  for (const std::string& path : paths)
    bundles.push_back(std::make_unique<debug::Bundle>(path));
  if (!paths.empty() || program.empty()) return bundles;
  if (std::unique_ptr<debug::Bundle> bundle = bundle_beside(program)) {
    fmt::print(stderr, "rdb: running the debug regions of {}\n", bundle->path());
    bundles.push_back(std::move(bundle));
  }
  return bundles;
}

} // namespace rdb::cli
