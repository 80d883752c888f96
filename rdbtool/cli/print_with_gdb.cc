// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/cli/print_with_gdb.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/failure.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/cli/gdb_process.h"
#include "rdbtool/debug/print/source_lines.h"

#include <nlohmann/json.hpp>

namespace rdb::cli {
namespace {

// What one could name at the place in the source, whether the optimiser left it there or not.
std::set<std::string> names_at(const std::vector<debug::ProgramCopy>& files,
                               const debug::PrintRequest& request) {
  std::set<std::string> names;
  if (request.line == 0) return names;
  for (const debug::ProgramCopy& file : files)
    for (auto& [number, line] : debug::source_lines(file.copy, request.file, request.line, request.line)) {
      names.merge(line.available);
      names.merge(line.unavailable);
    }
  return names;
}

nlohmann::json as_json(const std::vector<debug::ProgramCopy>& files, const debug::PrintRequest& request) {
  nlohmann::json object;
  object["file"] = request.spot.empty() ? request.file : request.spot;
  object["line"] = request.line;
  if (debug::is_format(request.what))
    object["format"] = request.what;
  else
    object["expressions"] = debug::split_expressions(request.what);
  object["names"] = names_at(files, request);
  return object;
}

} // namespace

int print_by_debug_info(const DebugInfoPrint& print) try {
  nlohmann::json question{{"if", print.condition}, {"from", print.from}, {"to", print.to}};
  question["most"] = print.max_hits;
  for (const debug::PrintRequest& request : print.requests)
    question["places"].push_back(as_json(print.files, request));
  return query_gdb(print.trace, print.process, "print", {question.dump()});
} catch (const std::exception& error) {
  print_error("rdb: print: {}\n", failure_text(error));
  return Failure::of(error).exit_status();
}

} // namespace rdb::cli
