// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb unpack: a recording from the file that rdb pack made.
#include "rdbtool/base/error.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/cli/command.h"
#include "rdbtool/trace/pack.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace rdb::cli {

Action setup_unpack(CommandOptions& command) {
  auto file = std::make_shared<std::string>();
  auto directory = std::make_shared<std::string>();
  command.option("FILE", *file, "A file made by rdb pack");
  command.option("-o", *directory, "The directory to make; without it a new one among your recordings");
  return [file, directory] {
    if (file->empty()) user_error("unpack: no file named; 'rdb help unpack' says what it takes");
    std::string path = trace::unpack_trace(*file, *directory);
    bool named = directory->empty();
    fmt::print("unpacked as {}\n",
               visible_text(named ? std::filesystem::path(path).filename().string() : path));
    return 0;
  };
}

} // namespace rdb::cli
