// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs clang's cc1 in this process, as the program clang does it, on a file system of the caller's choice.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

#include <functional>
#include <memory>
#include <string>

namespace clang {
class CompilerInstance;
class FrontendAction;
} // namespace clang
namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace rdb::driver {

struct FrontendRun {
  llvm::ArrayRef<const char*> arguments; // of cc1, without "-cc1"
  const char* program;                   // argv[0], what clang would have been called
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files;
  std::string header_directory; // searched last of all
  // Called when the options are parsed, before anything is compiled; may change them.
  std::function<void(clang::CompilerInstance&)> configure;
  // What to do instead of what the options say.
  std::function<std::unique_ptr<clang::FrontendAction>(clang::CompilerInstance&)> action;
};

// True if clang would have exited with 0.
bool run_frontend(const FrontendRun& run);

} // namespace rdb::driver
