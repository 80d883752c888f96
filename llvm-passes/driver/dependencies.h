// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Build systems must compile again when a header changes that only debug code includes. The dependency file
// is the program's compile's; what the debug code's compile saw besides is added to its first rule.
#pragma once

#include "clang/Frontend/DependencyOutputOptions.h"
#include "clang/Frontend/Utils.h"

#include <string>

namespace rdb::driver {

class DebugDependencies : public clang::DependencyCollector {
public:
  explicit DebugDependencies(bool with_system_headers) : with_system_headers_(with_system_headers) {}
  bool needSystemDependencies() override { return with_system_headers_; }

private:
  bool with_system_headers_;
};

// Writes the files that the dependency file does not have yet into it.
void add_dependencies(const clang::DependencyOutputOptions& options, llvm::ArrayRef<std::string> files);

} // namespace rdb::driver
