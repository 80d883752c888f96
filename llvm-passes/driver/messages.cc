// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each message is printed by clang's own printer, to a text in which the numbers are then replaced: those
// behind the path of a file with regions, and those in the margin of the quoted source. In the view of the
// debug code the lines of the markers are made up: there the edited line is quoted instead.
#include "llvm-passes/driver/messages.h"

#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/TextDiagnostic.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"

#include <fmt/format.h>

namespace rdb::driver {

namespace {

using extractor::RegionFile;
using extractor::RegionFiles;
using extractor::ViewKind;

class MappedPrinter : public clang::DiagnosticConsumer {
public:
  // `before` has counted what was said about the options.
  MappedPrinter(clang::DiagnosticOptions& options, const RegionFiles& files, ViewKind kind,
                const DiagnosticConsumer& before)
      : files_(files), kind_(kind), stream_(text_), printer_(stream_, options) {
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
  // Where a message points to.
  struct Pointed {
    const RegionFile* file = nullptr;
    unsigned said = 0;                      // the number of the line, as the printer says it
    unsigned edited = 0;                    // ... and in the edited file
    const source::Region* marker = nullptr; // the region whose marker stands there
  };

  Pointed pointed(const clang::Diagnostic& info) const {
    if (!info.hasSourceManager() || info.getLocation().isInvalid()) return {};
    const clang::SourceManager& sources = info.getSourceManager();
    clang::SourceLocation at = sources.getExpansionLoc(info.getLocation());
    auto entry = sources.getFileEntryRefForID(sources.getFileID(at));
    Pointed place;
    if (entry) place.file = files_.find(entry->getUniqueID());
    if (!place.file || kind_ == ViewKind::kStripped) return place;
    place.said = sources.getPresumedLineNumber(at);
    const auto& lines = place.file->module.edited_lines;
    unsigned line = sources.getExpansionLineNumber(at);
    place.edited = line <= lines.size() ? lines[line - 1] : 0;
    // A number that the file's own #line gave stays.
    auto stripped = place.file->scan.lines.to_stripped(place.edited);
    if (place.said != place.edited && (!stripped || *stripped != place.said)) {
      place.edited = place.said;
      return place;
    }
    for (const source::Region& region : place.file->scan.regions)
      if (region.marked && (place.edited == region.begin_line || place.edited == region.end_line))
        place.marker = &region;
    return place;
  }

  std::string mapped(const clang::Diagnostic& info) const {
    Pointed place = pointed(info);
    std::string result;
    llvm::StringRef rest = text_;
    while (!rest.empty()) {
      size_t length = std::min(rest.find('\n'), rest.size() - 1) + 1;
      result += mapped_line(rest.take_front(length), place);
      rest = rest.drop_front(length);
    }
    return result;
  }

  std::string mapped_line(llvm::StringRef line, const Pointed& place) const {
    // "   12 | int quoted;", and below it "      |     ^"
    llvm::StringRef number = line.ltrim(' ');
    size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
    if (place.file && number.substr(digits).starts_with(digits > 0 ? " |" : "|")) {
      size_t margin = line.size() - number.size() + digits;
      if (place.marker && digits > 0) return quoted_marker(place, margin);
      if (place.marker) return "";
      if (digits == 0) return line.str();
      return fmt::format("{:>{}}", with_edited(number.take_front(digits), *place.file, place), margin) +
             number.substr(digits).str();
    }
    // "file.c:12:3: error", "In file included from file.c:12:"
    for (const RegionFile& file : files_.files()) {
      size_t at = line.find(file.path + ":");
      if (at == llvm::StringRef::npos) continue;
      size_t begin = at + file.path.size() + 1;
      size_t end = std::min(line.find_first_not_of("0123456789", begin), line.size());
      if (end == begin) continue;
      std::string result = line.take_front(begin).str() + with_edited(line.slice(begin, end), file, place);
      llvm::StringRef column = line.substr(end);
      if (place.marker && &file == place.file && column.consume_front(":")) {
        result += fmt::format(":{}", marker_column(place));
        column = column.drop_while([](char c) { return isdigit(static_cast<unsigned char>(c)) != 0; });
      }
      return result + column.str();
    }
    return line.str();
  }

  static llvm::StringRef edited_line(const RegionFile& file, unsigned number) {
    llvm::StringRef rest = file.text;
    while (--number > 0)
      rest = rest.split('\n').second;
    return rest.split('\n').first.rtrim('\r');
  }

  static size_t marker_column(const Pointed& place) {
    llvm::StringRef line = edited_line(*place.file, place.edited);
    return std::min(line.find("rdb_"), line.size()) + 1;
  }

  static std::string quoted_marker(const Pointed& place, size_t margin) {
    std::string blank(marker_column(place) - 1, ' ');
    return fmt::format("{:>{}} | {}\n{:>{}} | {}^\n", place.edited, margin,
                       edited_line(*place.file, place.edited).str(), "", margin, blank);
  }

  std::string with_edited(llvm::StringRef number, const RegionFile& file, const Pointed& place) const {
    unsigned line = 0;
    if (number.getAsInteger(10, line)) return number.str();
    if (kind_ == ViewKind::kStripped) return std::to_string(file.scan.lines.to_edited(line));
    // In a view with regions numbers count otherwise between the regions than in them.
    if (&file == place.file && place.edited != 0) return std::to_string(line + place.edited - place.said);
    return number.str();
  }

  const RegionFiles& files_;
  ViewKind kind_;
  std::string text_;
  llvm::raw_string_ostream stream_;
  clang::TextDiagnosticPrinter printer_;
};

} // namespace

void map_messages(clang::CompilerInstance& compiler, const RegionFiles& files, ViewKind kind) {
  clang::DiagnosticOptions& options = compiler.getDiagnosticOpts();
  // Others than people read these.
  if (options.getFormat() == clang::DiagnosticOptions::SARIF || options.VerifyDiagnostics ||
      !options.DiagnosticSerializationFile.empty() || !options.DiagnosticLogFile.empty())
    return;
  compiler.getDiagnostics().setClient(
      new MappedPrinter(options, files, kind, *compiler.getDiagnostics().getClient()),
      /*ShouldOwnClient=*/true);
}

void print_message(clang::DiagnosticsEngine::Level level, const RegionFile& file, unsigned line,
                   unsigned column, const std::string& text, clang::DiagnosticOptions& options) {
  clang::FileManager files{clang::FileSystemOptions()};
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), options,
                                       new clang::IgnoringDiagConsumer);
  clang::SourceManager sources(diagnostics, files);
  clang::FileID id = sources.createFileID(llvm::MemoryBuffer::getMemBuffer(file.text, file.path));
  clang::LangOptions language;
  clang::TextDiagnostic printer(llvm::errs(), language, options);
  printer.emitDiagnostic(clang::FullSourceLoc(sources.translateLineCol(id, line, column), sources), level,
                         text, {}, {});
}

} // namespace rdb::driver
