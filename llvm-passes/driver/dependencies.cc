// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rule ends at the first line that does not go on with a backslash.
#include "llvm-passes/driver/dependencies.h"

#include "llvm/Support/MemoryBuffer.h"

#include <fstream>
#include <set>

namespace rdb::driver {

static std::string escaped(llvm::StringRef name) {
  std::string result;
  for (char c : name) {
    if (c == ' ' || c == '#') result += '\\';
    if (c == '$') result += '$';
    result += c;
  }
  return result;
}

void add_dependencies(const clang::DependencyOutputOptions& options, llvm::ArrayRef<std::string> files) {
  if (options.OutputFile.empty() || options.OutputFile == "-") return;
  auto old = llvm::MemoryBuffer::getFile(options.OutputFile);
  if (!old) return;
  std::string text = (*old)->getBuffer().str();
  size_t end = text.find('\n');
  while (end != std::string::npos && end > 0 && text[end - 1] == '\\')
    end = text.find('\n', end + 1);
  if (end == std::string::npos) return;
  std::set<std::string> known;
  llvm::SmallVector<llvm::StringRef, 0> lines;
  llvm::StringRef(text).take_front(end).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    line.consume_back("\\");
    for (size_t begin = 0; begin < line.size();) {
      size_t stop = begin;
      while (stop < line.size() && (line[stop] != ' ' || (stop > 0 && line[stop - 1] == '\\')))
        ++stop;
      known.insert(line.slice(begin, stop).str());
      begin = stop + 1;
    }
  }
  std::string more, phony;
  for (const std::string& file : files) {
    std::string name = escaped(file);
    if (!known.insert(name).second) continue;
    more += " \\\n  " + name;
    if (options.UsePhonyTargets) phony += name + ":\n";
  }
  if (more.empty()) return;
  text.insert(end, more);
  std::ofstream(options.OutputFile, std::ios::binary) << text << phony;
}

} // namespace rdb::driver
