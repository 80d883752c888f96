// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A debug source is compiled as if its text stood between rdb_begin_globals and rdb_end_globals; the object
// then carries the debug code and is empty otherwise.
#include "llvm-passes/driver/debug_sources.h"

#include "rdbtool/base/error.h"

#include "clang/Options/Options.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <fstream>

namespace rdb::driver {

DebugSource debug_source(const std::string& file, const llvm::opt::InputArgList& arguments, bool cxx) {
  using namespace clang::options;
  static int anchor;
  std::string self = llvm::sys::fs::getMainExecutable("rdb-clang", &anchor);
  DebugSource source{file, {cxx ? self + "++" : self}};
  for (const llvm::opt::Arg* argument : arguments) {
    const llvm::opt::Option& option = argument->getOption();
    if (option.getKind() == llvm::opt::Option::InputClass || option.matches(OPT_o) || option.matches(OPT_c) ||
        option.matches(OPT_x) || option.matches(OPT_shared) || option.matches(OPT_driver_mode) ||
        option.matches(OPT_Link_Group) || option.hasFlag(LinkerInput) || option.matches(OPT_M_Group))
      continue;
    llvm::opt::ArgStringList words;
    argument->render(arguments, words);
    source.compile.insert(source.compile.end(), words.begin(), words.end());
  }
  return source;
}

DebugObjects::DebugObjects(const std::vector<DebugSource>& sources) {
  if (sources.empty()) return;
  folder_.emplace("rdb-debug-source");
  for (const DebugSource& source : sources) {
    auto text = llvm::MemoryBuffer::getFile(source.file);
    if (!text) user_error("--rdb-debug-source: {}: {}", source.file, text.getError().message());
    std::string number = std::to_string(paths_.size());
    std::string wrapped = folder_->path() + "/" + number;
    std::ofstream(wrapped) << "rdb_begin_globals\n#line 1 \"" << source.file << "\"\n"
                           << (*text)->getBuffer().str() << "\nrdb_end_globals\n";
    paths_.push_back(wrapped + ".o");
    std::vector<std::string> command = source.compile;
    command.insert(command.end(),
                   {"-c", source.file, "-o", paths_.back(), "--rdb-edit=" + source.file + "=" + wrapped});
    std::vector<llvm::StringRef> words(command.begin(), command.end());
    if (llvm::sys::ExecuteAndWait(command[0], words) != 0)
      user_error("the debug source '{}' does not compile", source.file);
  }
}

} // namespace rdb::driver
