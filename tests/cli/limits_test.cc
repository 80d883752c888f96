// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the table of system calls refuses stands in docs/limits.md, by name and with the same reason.
#include "rdbtool/syscalls/table.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace rdb {
namespace {

class Limits : public testing::Test {
protected:
  void SetUp() override {
    std::ifstream file(RDB_SOURCE "/docs/limits.md");
    for (std::string line; std::getline(file, line);)
      lines_.push_back(line);
    ASSERT_FALSE(lines_.empty());
  }

  // A row of a table that has the name, in code type, and ends in the reason.
  bool documented(const std::string& name, const std::string& reason) const {
    for (const std::string& line : lines_)
      if (line.find("`" + name + "`") != std::string::npos && line.ends_with("| " + reason + " |"))
        return true;
    return false;
  }

  std::vector<std::string> lines_;
};

TEST_F(Limits, RefusedSystemCallsAreDocumented) {
  for (const SyscallInfo& call : syscall_table()) {
    if (call.call_class != CallClass::refused || std::string(call.reason) == "no Linux kernel implements it")
      continue;
    EXPECT_TRUE(documented(call.name, call.reason))
        << "docs/limits.md lacks the system call `" << call.name << "` with the reason: " << call.reason;
  }
}

TEST_F(Limits, RefusedRequestsAreDocumented) {
  for (const SyscallInfo& call : syscall_table()) {
    if (!call.variants) continue;
    for (const CallVariant& variant : call.variants->variants)
      if (variant.call_class == CallClass::refused) {
        EXPECT_TRUE(documented(call.name, variant.reason) && documented(variant.name, variant.reason))
            << "docs/limits.md lacks `" << call.name << "`: `" << variant.name
            << "` with the reason: " << variant.reason;
      }
  }
}

TEST_F(Limits, NothingIsDocumentedThatIsNotRefused) {
  bool in_calls = false;
  for (const std::string& line : lines_) {
    if (line.starts_with("| call, and the error")) in_calls = true;
    if (line.empty()) in_calls = false;
    if (!in_calls || !line.starts_with("| `")) continue;
    std::istringstream names(line.substr(0, line.find(" | ")));
    for (std::string word; std::getline(names, word, '`');) {
      if (!std::getline(names, word, '`')) break; // every second piece stands between backquotes
      bool refused = false;
      for (const SyscallInfo& call : syscall_table())
        refused |= call.name == word && call.call_class == CallClass::refused;
      EXPECT_TRUE(refused) << "docs/limits.md names `" << word << "`, which the table does not refuse";
    }
  }
}

} // namespace
} // namespace rdb
