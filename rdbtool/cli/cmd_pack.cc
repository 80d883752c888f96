// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb pack: a recording as one file.
#include "rdbtool/trace/pack.h"

#include "rdbtool/base/error.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/trace/trace_dir.h"

#include <memory>

namespace rdb::cli {

Action setup_pack(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  app.add_option("TRACE", *name, "The recording");
  app.add_option("FILE", *file, "The file to make, as in prog-0.tar.zst");
  app.footer("The file holds all that the program read and its environment: send it to people you trust.");
  return [name, file] {
    if (file->empty())
      user_error("pack: a recording and a file are needed; 'rdb help pack' says what it takes");
    trace::pack_trace(trace::find_trace(*name), *file);
    return 0;
  };
}

} // namespace rdb::cli
