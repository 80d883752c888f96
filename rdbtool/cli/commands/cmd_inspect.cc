// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `rdb inspect`: what a bundle knows, as a table.
#include "descriptors/elf_file.h"
#include "descriptors/inspect.h"
#include "descriptors/text_size.h"
#include "rdbtool/base/bounded_file.h"
#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace rdb::cli {

namespace {

// A bundle's descriptors by the name of the bundle or of its program, which may be a link (libfoo.so).
std::string find_descriptors(const std::string& name) {
  std::error_code failed;
  std::string program = std::filesystem::weakly_canonical(name, failed);
  for (const std::string& folder : {name, name + ".rdb", program + ".rdb"})
    if (std::string path = folder + "/descriptors"; std::filesystem::exists(path)) return path;
  if (!std::filesystem::exists(name)) user_error("'{}' does not exist", name);
  user_error("'{}' is not a bundle, and there is no '{}.rdb' beside it: link the program with rdb-clang",
             name, name);
}

// The facts in the bundle's twins, by the names of their files. A bundle need not have any.
descriptors::TwinTexts find_twins(const std::string& folder, const descriptors::Descriptors& described) {
  constexpr uint64_t kMaxTwin = uint64_t{1} << 30;
  descriptors::TwinTexts texts;
  for (const descriptors::Unit& unit : described.units) {
    std::string path = folder + "/twins/" + unit.key + ".o";
    if (!std::filesystem::exists(path)) continue;
    try {
      std::string bytes = read_bounded(path, kMaxTwin);
      elf::File object(bytes);
      if (const elf::Section* facts = object.find(".rdbtwin")) texts.emplace(path, facts->bytes);
    } catch (const elf::Error& error) {
      user_error("{}: {}", path, error.what());
    }
  }
  return texts;
}

int inspect(const std::string& name) {
  std::string path = find_descriptors(name);
  try {
    std::string text = read_bounded(path, descriptors::kMaxText);
    descriptors::Descriptors described = descriptors::read(text, path);
    if (described.program.size() != 1) user_error("{}: does not say which program it belongs to", path);
    std::string table =
        descriptors::inspection(described, find_twins(std::filesystem::path(path).parent_path(), described));
    std::fwrite(table.data(), 1, table.size(), stdout);
  } catch (const descriptors::FormatError& error) {
    throw UserError(error.what());
  } catch (const std::system_error& error) {
    user_error("{}", error.what());
  }
  return 0;
}

} // namespace

Action setup_inspect(CommandOptions& command) {
  auto bundle = std::make_shared<std::string>();
  command.option("BUNDLE", *bundle, "The bundle (prog.rdb), or the program beside it").required();
  command.footer("Example:\n  rdb inspect ./prog.rdb");
  return [bundle] { return inspect(*bundle); };
}

} // namespace rdb::cli
