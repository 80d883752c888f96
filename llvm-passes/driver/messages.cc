// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each message is printed by clang's own printer, to a text in which the numbers are then replaced: those
// behind the path of a file with regions, and those in the margin of the quoted source.
#include "llvm-passes/driver/messages.h"

#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"

#include <fmt/format.h>

namespace rdb::driver {

namespace {

using extractor::RegionFile;
using extractor::RegionFiles;

class MappedPrinter : public clang::DiagnosticConsumer {
public:
  // `before` has counted what was said about the options.
  MappedPrinter(clang::DiagnosticOptions& options, const RegionFiles& files, const DiagnosticConsumer& before)
      : files_(files), stream_(text_), printer_(stream_, options) {
    stream_.enable_colors(options.ShowColors);
    NumWarnings = before.getNumWarnings();
    NumErrors = before.getNumErrors();
  }

  void BeginSourceFile(const clang::LangOptions& language, const clang::Preprocessor* preprocessor) override {
    printer_.BeginSourceFile(language, preprocessor);
  }
  void EndSourceFile() override { printer_.EndSourceFile(); }

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    printer_.HandleDiagnostic(level, info);
    stream_.flush();
    llvm::errs() << (files_.empty() ? text_ : mapped(info));
    text_.clear();
  }

private:
  std::string mapped(const clang::Diagnostic& info) const {
    const RegionFile* quoted = nullptr;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const clang::SourceManager& sources = info.getSourceManager();
      if (auto entry =
              sources.getFileEntryRefForID(sources.getFileID(sources.getExpansionLoc(info.getLocation()))))
        quoted = files_.find(entry->getUniqueID());
    }
    std::string result;
    llvm::StringRef rest = text_;
    while (!rest.empty()) {
      size_t length = std::min(rest.find('\n'), rest.size() - 1) + 1;
      result += mapped_line(rest.take_front(length), quoted);
      rest = rest.drop_front(length);
    }
    return result;
  }

  std::string mapped_line(llvm::StringRef line, const RegionFile* quoted) const {
    // "   12 | int quoted;"
    llvm::StringRef number = line.ltrim(' ');
    size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    if (quoted && digits > 0 && number.substr(digits).starts_with(" |")) {
      std::string edited = with_edited(number.take_front(digits), *quoted);
      size_t margin = line.size() - number.size() + digits;
      return fmt::format("{:>{}}", edited, margin) + number.substr(digits).str();
    }
    // "file.c:12:3: error", "In file included from file.c:12:"
    for (const RegionFile& file : files_.files()) {
      size_t at = line.find(file.path + ":");
      if (at == llvm::StringRef::npos) continue;
      size_t begin = at + file.path.size() + 1;
      size_t end = std::min(line.find_first_not_of("0123456789", begin), line.size());
      if (end == begin) continue;
      return line.take_front(begin).str() + with_edited(line.slice(begin, end), file) +
             line.substr(end).str();
    }
    return line.str();
  }

  static std::string with_edited(llvm::StringRef number, const RegionFile& file) {
    unsigned line = 0;
    if (number.getAsInteger(10, line)) return number.str();
    return std::to_string(file.scan.lines.to_edited(line));
  }

  const RegionFiles& files_;
  std::string text_;
  llvm::raw_string_ostream stream_;
  clang::TextDiagnosticPrinter printer_;
};

} // namespace

void map_messages(clang::CompilerInstance& compiler, const RegionFiles& files) {
  clang::DiagnosticOptions& options = compiler.getDiagnosticOpts();
  // Others than people read these.
  if (options.getFormat() == clang::DiagnosticOptions::SARIF || options.VerifyDiagnostics ||
      !options.DiagnosticSerializationFile.empty() || !options.DiagnosticLogFile.empty())
    return;
  compiler.getDiagnostics().setClient(
      new MappedPrinter(options, files, *compiler.getDiagnostics().getClient()),
      /*ShouldOwnClient=*/true);
}

} // namespace rdb::driver
