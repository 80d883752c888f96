// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb print shows: the hits that another process finds, chosen and dressed as the user asked.
#pragma once

#include "rdbtool/debug/print/print_text.h"

#include <functional>
#include <map>
#include <string>

namespace rdb::cli {

struct HitOptions {
  bool changes = false;
  uint64_t max_hits = UINT64_MAX;
  debug::HitStyle style = debug::HitStyle::plain;
};

class HitPrinter {
public:
  // A hit belongs to one of the user's requests, if it is known which.
  using RequestOf = std::function<const debug::PrintRequest*(const debug::Hit&)>;
  HitPrinter(HitOptions options, RequestOf request_of)
      : options_(options), request_of_(std::move(request_of)) {}

  // Runs `child` in a process of its own and shows what it writes to its standard output, as it comes. The
  // child's messages go where ours go. Returns its exit status, or 128 and the
  // signal that it died of.
  int run(const std::function<int()>& child);
  bool shown() const { return shown_; }

private:
  bool take_lines(int from);
  void line(const std::string& text);
  void complete(debug::Hit& hit, const debug::PrintRequest& request);
  void show(const debug::Hit& hit);
  void show_rest();
  bool changed(const debug::Hit& hit, const std::string& place);

  HitOptions options_;
  RequestOf request_of_;
  std::map<int32_t, debug::Hit> begun_; // of each thread: the hit whose values come line by line
  std::map<std::string, std::string> last_;
  std::map<std::string, uint64_t> counts_;
  std::map<std::string, std::string> missing_; // what was, and why
  bool header_ = false;
  bool shown_ = false;
};

} // namespace rdb::cli
