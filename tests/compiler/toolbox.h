// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tests of the compiler side need: a temporary folder, files, and other programs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::test {

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Each test has a folder of its own, and runs commands there.
class Toolbox : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "rdb-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void put(const std::string& name, std::string_view content) const { write_file(path(name), content); }
  std::string get(const std::string& name) const { return read_file(path(name)); }

  // Runs a shell command in the folder; what it printed is in `output()`.
  int run(const std::string& command) {
    // NOLINTNEXTLINE(bugprone-command-processor): the commands are the tests' own
    int status = std::system(("cd " + folder_ + " && (" + command + ") > .output 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  std::string output() const { return get(".output"); }
  void must(const std::string& command) { ASSERT_EQ(run(command), 0) << command << "\n" << output(); }

  // Compiles C++ source text to NAME.o with plain clang.
  void compile(const std::string& name, std::string_view source, const std::string& flags = "-O1") {
    put(name + ".cc", source);
    must("/usr/bin/clang++-22 " + flags + " -c " + name + ".cc -o " + name + ".o");
  }

  std::string folder_;
};

} // namespace rdb::test
