// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `rdb verify`: is a program the same as the original, and if not, where and why not?
#include "descriptors/compare_programs.h"
#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"

#include <memory>
#include <system_error>

namespace rdb::cli {

namespace {

constexpr int kExitDifferent = 1;

constexpr size_t kMaxProgram = size_t{16} << 30;

std::string read_program(const std::string& path) {
  try {
    return read_bounded(path, kMaxProgram);
  } catch (const std::system_error&) {
    user_error("cannot read '{}'", path);
  }
}

elf::File open_program(const std::string& path, const std::string& bytes) {
  try {
    return elf::File(bytes);
  } catch (const elf::Error& error) {
    user_error("'{}' is not a program: {}", path, error.what());
  }
}

int verify(const std::string& original_path, const std::string& program_path) {
  std::string original_bytes = read_program(original_path), program_bytes = read_program(program_path);
  elf::File original = open_program(original_path, original_bytes);
  elf::File program = open_program(program_path, program_bytes);
  descriptors::Comparison result = descriptors::compare_programs(original, program);
  if (result.same_file) {
    fmt::print("identical: the files are equal, byte for byte\n");
    return 0;
  }
  if (result.same_loaded) {
    fmt::print("identical: every loaded byte is equal\nthe files differ in what is not loaded: {}\n",
               fmt::join(result.other_sections, ", "));
    return 0;
  }
  fmt::print("different: {}\n", result.first_difference);
  for (const std::string& reason : result.reasons)
    fmt::print("likely reason: {}\n", reason);
  return kExitDifferent;
}

} // namespace

Action setup_verify(CommandOptions& command) {
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  command.option("ORIGINAL", paths->first, "The program as it was, for example the one that was recorded")
      .required();
  command.option("PROGRAM", paths->second, "The program that should be the same").required();
  command.footer("Exits with 0 if every loaded byte is equal, with 1 if not.\n\n"
                 "Example:\n  rdb verify prog.orig prog");
  return [paths] { return verify(paths->first, paths->second); };
}

} // namespace rdb::cli
