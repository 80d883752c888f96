// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb pack: a recording as one file.
#include "rdbtool/trace/pack.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/trace/trace_dir.h"

#include <memory>

namespace rdb::cli {

Action setup_pack(CommandOptions& command) {
  auto name = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  command.option("TRACE", *name, "The recording");
  command.option("FILE", *file, "The file to make, as in prog-0.tar.zst");
  command.footer(
      "The file holds all that the program read and its environment: send it to people you trust.");
  return [name, file] {
    if (file->empty())
      user_error("pack: a recording and a file are needed; 'rdb help pack' says what it takes");
    std::string damage = trace::pack_trace(trace::find_trace(*name), *file);
    if (damage.empty()) return 0;
    print_error("rdb: pack: the recording is damaged, and {} holds only what comes before: {}\n", *file,
                damage);
    return kExitUsage;
  };
}

} // namespace rdb::cli
